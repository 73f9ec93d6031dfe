// C++ file streams: libstdc++ opens and closes them as C streams, and reads and writes their descriptors. Each stream gets
// the descriptor number of the stream closed before. Prints `path bytes` for each file, which it has written and read back.
// Usage: fstreams DIRECTORY. Provenance: written for this project.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

static void check(bool fine) {
    if (!fine) {
        std::cerr << "fstreams: failed\n";
        std::exit(99);
    }
}

int main(int argc, char **argv) {
    check(argc == 2);
    for (int i = 0; i < 20; i++) {
        std::string path = std::string(argv[1]) + "/file" + std::to_string(i), word;
        long bytes = 0;
        {
            std::ofstream out(path);
            for (int k = 0; k < 100 * i; k++) {
                out << "word" << '\n';
                bytes += 5;
            }
            check(out.good());
        }
        std::ifstream in(path);
        long words = 0;
        while (in >> word) {
            words++;
        }
        check(words == 100 * i);
        std::cout << path << ' ' << bytes << '\n';
    }
    return 0;
}
