// A program of somebody else: converts a model file and reads a tensor of it.
//
//   model_consumer FILE.gguf OUT.gguf
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "dequant/model.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto model = dequant::Model::open(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 1;
  const auto q = model->find("q");
  if (!q) return std::fprintf(stderr, "%s\n", q.error().message.c_str()), 1;
  std::vector<float> y(static_cast<size_t>(model->bytes(*q).value()) / sizeof(float));
  model->read(*q, std::as_writable_bytes(std::span(y))).value();
  const auto done = dequant::convert_model(argv[1], argv[2], {.overwrite = true});
  if (!done) return std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1;
  const bool good = y.size() == 32 && y[3] == 1.5F && done->converted == 1 &&
                    model->tensors()[*q].stored == "Q8_0";
  std::puts(good ? "dequant::model works" : "dequant::model gives something else");
  return good ? 0 : 1;
}
