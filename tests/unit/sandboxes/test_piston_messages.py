"""Messages of compilers are shown as if the program had been compiled alone."""

from pytest_crmeval.sandboxes.piston.messages import compilers, last


def test_a_compiler_names_the_program_and_nothing_else() -> None:
    """Whatever a server has made of the name of what stands before it."""
    said = """In file included from crmeval_front.cpp.cpp:166:
main.inc:4:69: error: no
In file included from /usr/include/c++/12/algorithm:61,
                 from main.inc:1,
                 from crmeval_front.cpp:166:
/usr/include/c++/12/bits/stl_algo.h:1938:50: error: no match
crmeval_front.cpp:(.text+0x5): undefined reference to `f()'
domain.include
"""
    alone = b"""main.cpp:4:69: error: no
In file included from /usr/include/c++/12/algorithm:61,
                 from main.cpp:1:
/usr/include/c++/12/bits/stl_algo.h:1938:50: error: no match
main.cpp:(.text+0x5): undefined reference to `f()'
domain.include
"""

    assert alone == compilers(said)


def test_the_first_errors_of_a_compiler_are_kept_and_the_last_words_of_a_program() -> None:
    assert b"first" + b"x" * 65_531 == compilers("first" + "x" * 99_999)
    assert b"x" * 4092 + b"last" == last("x" * 99_999 + "last")
