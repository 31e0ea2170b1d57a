// The bodies of all kernels as types, and which of them a plan needs.
#pragma once

#include "cuda/thread/block_thread.h"
#include "cuda/thread/fast_thread.h"
#include "cuda/thread/indexed_rows_thread.h"
#include "cuda/thread/ranges_thread.h"
#include "cuda/thread/simple_square_thread.h"
#include "cuda/thread/square_thread.h"
#include "cuda/thread/thread.h"

namespace dequant::cuda {

/// The bodies of kernels, as types. kBlocks: how many blocks of threads a multiprocessor should
/// hold, which limits the registers of a thread.
///
/// Of vectors of kCount elements: float16 and bfloat16 have one kernel, to have fewer.
template <int kCount>
struct ElementsBody {
  static constexpr int kBlocks = 4;
  DEQUANT_HD static void run(const DevicePlan& p, int64_t thread) noexcept {
    run_thread<kCount>(p, thread);
  }
};

/// The same of a FastPlan.
template <FastKind kKind, int kBits, FastMode kMode, int kCount>
struct FastBody {
  static constexpr bool kIsLarge =
      kKind == FastKind::wide || kMode == FastMode::indexed || kMode == FastMode::indexed_rows;
  /// Sixteen words of codes, and a scale and a zero point for each of eight elements.
  static constexpr bool kIsEachOf16 = kMode == FastMode::each && kBits == 16 && kCount == 8;
  static constexpr int kBlocks = kMode == FastMode::indexed_rows     ? 3
                                 : kIsLarge                          ? 4
                                 : kBits == kUnpacked || kIsEachOf16 ? 5
                                                                     : 6;
  DEQUANT_HD static void run(const FastPlan& f, int64_t thread) noexcept {
    const auto number = static_cast<uint32_t>(thread);
    if constexpr (kMode == FastMode::rows) {
      run_rows_thread<kCount>(f, number);
    } else if constexpr (kMode == FastMode::indexed_rows) {
      run_indexed_rows_thread<kCount>(f, number);
    } else if constexpr (kMode == FastMode::indexed) {
      run_indexed_thread<kCount>(f, number);
    } else if constexpr (kMode == FastMode::finishing) {
      run_finishing_thread<kKind, kBits, kCount>(f, number);
    } else if constexpr (kMode == FastMode::each) {
      run_each_thread<kKind, kBits, kCount>(f, number);
    } else {
      run_group_thread<kKind, kBits, kMode == FastMode::shared, kCount>(f, number);
    }
  }
};

template <int kCount>
struct RangesBody {
  static constexpr int kBlocks = 5;
  DEQUANT_HD static void run(const FastPlan& f, int64_t thread) noexcept {
    run_ranges_thread<kCount>(f, static_cast<uint32_t>(thread));
  }
};

template <FastKind kKind, int kCount>
struct SquareBody {
  static constexpr int kBlocks = 4;
  DEQUANT_HD static void run(const FastPlan& f, int64_t thread) noexcept {
    run_square_thread<kKind, kCount>(f, static_cast<uint32_t>(thread));
  }
};

template <FastKind kKind, int kBits, int kCount>
struct SimpleSquareBody {
  static constexpr int kBlocks = 4;
  DEQUANT_HD static void run(const FastPlan& f, int64_t thread) noexcept {
    run_simple_square_thread<kKind, kBits, kCount>(f, static_cast<uint32_t>(thread));
  }
};

/// The same of blocks.
template <BlockType kType, int kCount>
struct BlocksBody {
  static constexpr int kBlocks = 4;
  DEQUANT_HD static void run(const BlockPlan& p, int64_t thread) noexcept {
    run_block_vectors<kType, kCount>(p, static_cast<uint32_t>(thread));
  }
};

struct BlockElementsBody {
  static constexpr int kBlocks = 4;
  DEQUANT_HD static void run(const Computation& p, int64_t thread) noexcept {
    run_block_element(p, thread);
  }
};

/// Calls launch.template operator()<Body>() for the output of a plan.
template <template <int> class Body, class Launch>
auto with_output(Element output, const Launch& launch) {
  if (output == Element::float32) return launch.template operator()<Body<4>>();
  return launch.template operator()<Body<8>>();
}

/// The same for the body of squares.
template <class Launch>
auto with_square_body(const FastPlan& f, const Launch& launch) {
  const bool is_long = f.plan.output == Element::float32;
  const auto with = [&]<FastKind kKind>() {
    if (is_long) return launch.template operator()<SquareBody<kKind, 4>>();
    return launch.template operator()<SquareBody<kKind, 8>>();
  };
  const auto simple = [&]<FastKind kKind, int kBits>() {
    if (is_long) return launch.template operator()<SimpleSquareBody<kKind, kBits, 4>>();
    return launch.template operator()<SimpleSquareBody<kKind, kBits, 8>>();
  };
  using enum FastKind;
  if (f.kind == floating) {
    if (f.bits == 4) return with.template operator()<floating>();
    return simple.template operator()<floating, 8>();
  }
  switch (f.bits) {
    case 4:
      if (f.by_row) return with.template operator()<integer>();
      return simple.template operator()<integer, 4>();
    case 8: return simple.template operator()<integer, 8>();
    default: return simple.template operator()<integer, 16>();
  }
}

/// The same for the body of a FastPlan.
template <class Launch>
auto with_fast_body(const FastPlan& f, const Launch& launch) {
  const auto with = [&]<FastKind kKind, int kBits, FastMode kMode>() {
    if (f.plan.output == Element::float32) {
      return launch.template operator()<FastBody<kKind, kBits, kMode, 4>>();
    }
    return launch.template operator()<FastBody<kKind, kBits, kMode, 8>>();
  };
  const auto of = [&]<FastKind kKind, int kBits>() {
    switch (f.mode()) {
      case FastMode::groups: return with.template operator()<kKind, kBits, FastMode::groups>();
      case FastMode::shared: return with.template operator()<kKind, kBits, FastMode::shared>();
      case FastMode::each: return with.template operator()<kKind, kBits, FastMode::each>();
      default: return with.template operator()<kKind, kBits, FastMode::finishing>();
    }
  };
  using enum FastKind;
  if (f.square) return with_square_body(f, launch);
  if (f.mode() == FastMode::ranges) return with_output<RangesBody>(f.plan.output, launch);
  if (f.kind == codebook) return of.template operator()<codebook, 4>();
  if (f.kind == wide) return of.template operator()<wide, 32>();
  if (f.kind == floating) {
    if (f.bits == 6) {
      switch (f.mode()) {
        case FastMode::groups: return with.template operator()<floating, 6, FastMode::groups>();
        case FastMode::shared: return with.template operator()<floating, 6, FastMode::shared>();
        default: return with.template operator()<floating, 6, FastMode::each>();
      }
    }
    if (f.bits == 4) return of.template operator()<floating, 4>();
    return of.template operator()<floating, 8>();
  }
  if (f.bits == kUnpacked) {
    switch (f.mode()) {
      case FastMode::groups:
        return with.template operator()<integer, kUnpacked, FastMode::groups>();
      case FastMode::shared:
        return with.template operator()<integer, kUnpacked, FastMode::shared>();
      case FastMode::indexed:
        return with.template operator()<integer, kUnpacked, FastMode::indexed>();
      case FastMode::rows: return with.template operator()<integer, kUnpacked, FastMode::rows>();
      case FastMode::indexed_rows:
        return with.template operator()<integer, kUnpacked, FastMode::indexed_rows>();
      default: return with.template operator()<integer, kUnpacked, FastMode::finishing>();
    }
  }
  switch (f.bits) {
    case 2: return of.template operator()<integer, 2>();
    case 4: return of.template operator()<integer, 4>();
    case 8: return of.template operator()<integer, 8>();
    default: return of.template operator()<integer, 16>();
  }
}

/// The same for the body of vectors of blocks.
template <class Launch>
auto with_blocks_body(const BlockPlan& p, const Launch& launch) {
  switch (p.type) {
#define DEQUANT_BLOCK(name, ...)                                              \
  case BlockType::name:                                                       \
    return p.output == Element::float32                                       \
               ? launch.template operator()<BlocksBody<BlockType::name, 4>>() \
               : launch.template operator()<BlocksBody<BlockType::name, 8>>();
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
  }
  return launch.template operator()<BlocksBody<BlockType::Q4_0, 4>>();  // no type
}

}  // namespace dequant::cuda
