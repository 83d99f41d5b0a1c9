# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of pictures. Each module here is one, or some that are drawn alike; nothing else names it (graph.py). The
first two are constants, for they are read without loading the module.

    KINDS                               {name: (what it shows, examples...)}; an example is (its words, what they do)
    REPORTED                            {name: what a report draws it of}, if it does: of each "trace", of all "traces"
                                        together, or of "decisions"
    options(parser)                     adds options of its own, if it has some
    suffix(arguments)                   how the picture's name goes on after that of the file; otherwise _ and the name
    open_source(path, arguments)        what is drawn of a file; it has name and header(), and says what is wrong
    draw(sources, arguments, header)    the figure, as matplotlib has it
    report(source, arguments)           the same in numbers, a text of some lines
"""
