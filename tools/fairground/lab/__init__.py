# SPDX-License-Identifier: GPL-2.0-only
"""Labs: coursework cut out of the scheduler's own source, and graded in logical time (labs/README.md).

    spec        a lab as labs/NN-name/lab.toml describes it, and its wrong solutions
    regions     the regions of the source that a student writes: cut out, read, put in
    handout     the student's tree
    submission  what a student hands in: a tree, some files or an archive
    workshop    a copy of the tree in which a submission is built
    box         a program run with limits, without network
    results     what one test or run gave
    tiers       the three parts of a grade: unit, simulator, kernel
    contest     a policy of the student's own: is it sound, how good is it?
    reading     a filter of the student's own, which reads traces
    explain     a wrong decision as a sentence
    grade       a grade, and its forms: text, Gradescope, GitHub Classroom
    outputs     files that a command writes: checked before the work, and whole
    roster      a whole class: table, leaderboard, export for tools that look for copies
    check       are the labs themselves right? What continuous integration runs
    command     the command line
"""
