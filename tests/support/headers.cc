// Precompiled for all tests: what every one of them includes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
