"""The words of the pages: (name of the anchor, word, meaning), in the order of the alphabet."""

from __future__ import annotations

GLOSSARY: tuple[tuple[str, str, str], ...] = (
    (
        "admm",
        "ADMM",
        "A method of distributed optimization: parts of a problem propose values for what they "
        "share, and penalties drive the proposals together until they agree.",
    ),
    (
        "arm",
        "arm",
        "One of finitely many points that a method may choose, a row of a table. To *pull* an "
        "arm is to evaluate it.",
    ),
    (
        "as-printed",
        "as printed",
        "With the settings that the paper states; where it states none, with the answer that "
        "the page of the paper lists under assumptions.",
    ),
    (
        "bayesian-optimization",
        "Bayesian optimization",
        "Searching the largest value of a function that is costly to evaluate: a statistical "
        "model of the values seen so far chooses where to evaluate next.",
    ),
    (
        "check",
        "check",
        "A claim written so that a program can decide it: a test, what it compares, on which "
        "problems, and from which bound on it fails.",
    ),
    (
        "late",
        "check fixed after its first records",
        "The test of the claim was written, or changed, when numbers for it were there already. "
        "It may have been chosen with them in sight; its page says when.",
    ),
    (
        "claim",
        "claim",
        "A sentence of a paper that can turn out wrong, with its check.",
    ),
    (
        "code-path",
        "code path",
        "Which variant of its numerical routines a library takes on a processor. Another one "
        "gives other last digits.",
    ),
    (
        "comparison",
        "comparison",
        "One part of a claim: two methods on one problem, or one curve against a bound. The "
        "*weakest* one is the one that speaks least for the claim.",
    ),
    (
        "contradicted",
        "contradicted",
        "Outcome: some comparison is significantly on the other side, or one run refutes a "
        "statement about all.",
    ),
    (
        "control",
        "control",
        "A claim of ours, not of the paper, that tells explanations apart. It is counted apart.",
    ),
    (
        "cpu-time",
        "CPU time",
        "Seconds that a processor core computed, summed over runs. Each run uses one thread.",
    ),
    (
        "curve",
        "curve",
        "The runs of one method with one set of settings on one problem, a line in a figure. "
        "`method@reading+variant` names it.",
    ),
    (
        "decomposition",
        "decomposition",
        "A way to write a function of many variables as a sum of functions of fewer, its "
        "*factors*.",
    ),
    (
        "default",
        "default",
        "The settings with which a figure or a claim is run unless a reading says otherwise: "
        "what the paper states, and our answer where it states nothing.",
    ),
    (
        "dictionary",
        "dictionary",
        "The few arms by which a sketch describes all others.",
    ),
    (
        "digest",
        "digest",
        "A number computed from the code, the parameters and the data of a run. It tells whether a "
        "record is what today's code would make.",
    ),
    (
        "direction-only",
        "direction only",
        "Outcome: every comparison is on the claimed side, but not each of them significantly.",
    ),
    (
        "equivalence",
        "equivalence test",
        "Shows that two means differ by less than a tolerance: the difference is tested against "
        "both ends of it.",
    ),
    (
        "evaluation",
        "evaluation",
        "One call of the function that is optimized.",
    ),
    (
        "feasible",
        "feasible",
        "A point that meets all constraints of its problem; here, where none of them is above 0.",
    ),
    (
        "holds",
        "holds",
        "A claim holds if its outcome is *reproduced* or *direction only*.",
    ),
    (
        "inconclusive",
        "inconclusive",
        "Outcome: some comparison is on the other side, but none significantly.",
    ),
    (
        "interval",
        "interval",
        "The 95 % t interval of a mean over seeds: if the numbers of the seeds are normally "
        "distributed, such intervals contain the true mean in 95 % of cases; with skewed numbers "
        "in fewer.",
    ),
    (
        "level",
        "level of a test",
        "How often a claim that is wrong may be called reproduced by accident: 0.05, over both "
        "looks together.",
    ),
    (
        "level-with",
        "level with",
        "Two means that an equivalence test shows to differ by less than a tolerance. “Not told "
        "apart” says only that no test shows a difference.",
    ),
    (
        "look",
        "look",
        "A time at which the seeds are judged: when five are there, and when ten are. In "
        "between nothing is decided.",
    ),
    (
        "not-decided",
        "not decided",
        "Outcome: there are too few seeds, missing runs, substituted data, or hypotheses that "
        "the runs do not meet. The page says which.",
    ),
    (
        "null-model",
        "null model",
        "Something that knows nothing of the method that a claim is about, such as draws of a "
        "random search. If it passes the check of the claim, the claim holds trivially. So does "
        "one whose check is true of every number.",
    ),
    (
        "one-sided",
        "one-sided",
        "A test asks about one side alone: is the left mean below the right one? Its p can be "
        "small while the two-sided 95 % interval beside it still reaches just beyond no effect.",
    ),
    (
        "p",
        "p",
        "How likely numbers at least this much in favour of a statement would be if it were "
        "wrong. Small is strong evidence.",
    ),
    (
        "paired",
        "paired",
        "Compared seed by seed: with the same seed all methods meet the same problem, the same "
        "first points and the same noise.",
    ),
    (
        "problem",
        "problem",
        "A function to be optimized, with its domain, its noise and its constraints.",
    ),
    (
        "public-code",
        "public code",
        "What the authors published as a program. Where it differs from the paper's text, a "
        "reading follows it.",
    ),
    (
        "q",
        "q",
        "p, adjusted for the number of claims of a paper (Benjamini and Hochberg): among all "
        "claims with q up to 0.05, about 5 % at most are called wrongly. Of a contradicted "
        "claim it is p against the claim that is adjusted.",
    ),
    (
        "qualifier",
        "qualifier",
        "What an outcome is worth, beside it. Some claims are counted apart: what lies outside a "
        "theorem, what holds trivially, and what was decided on data that take the place of the "
        "paper's.",
    ),
    (
        "reading",
        "reading",
        "Another answer to what a paper leaves open, or to where its text and its public code "
        "disagree: a named set of settings that runs through the same workflow.",
    ),
    (
        "record",
        "record",
        "The verified file of one run: a row for each evaluation, the settings, the versions "
        "and the machine.",
    ),
    (
        "regret",
        "regret",
        "What is lost against the optimum. *Simple* regret is that of the best point so far; "
        "*cumulative* regret is the sum over all evaluations.",
    ),
    (
        "reproduced",
        "reproduced",
        "Outcome: every comparison is significantly on the claimed side.",
    ),
    (
        "run-set",
        "run-set",
        "All runs on one problem under one reading.",
    ),
    (
        "scale",
        "scale",
        "How large the runs are. `paper` is the published size. `smoke` is small and decides "
        "nothing.",
    ),
    (
        "seed",
        "seed",
        "The number that all randomness of a run comes from. Another seed is another repetition.",
    ),
    (
        "sign-flip",
        "sign-flip test",
        "An exact test without assumptions on the shape of the numbers: in how many of all ways "
        "to swap the sides of seeds is the sum as extreme as the one seen.",
    ),
    (
        "sketch",
        "sketch",
        "A cheap stand-in for a Gaussian process, which describes all points by a few of them.",
    ),
    (
        "specification",
        "specification",
        "A way to run a claim: as printed, or under a reading that changes one of its runs.",
    ),
    (
        "study",
        "study",
        "A computation that checks a statement of theory and is no run of an optimizer.",
    ),
    (
        "substitute",
        "substitute",
        "Data of the same shape in the place of data that cannot be had. They are labelled, and "
        "claims that need real data stay undecided on them.",
    ),
    (
        "disagree",
        "t and sign-flip tests disagree",
        "One of the two tests is significant and the other is not. The t test decides, and the "
        "page shows both.",
    ),
    (
        "tolerance",
        "tolerance",
        "The difference up to which two numbers count as level with each other.",
    ),
    (
        "trace",
        "trace",
        "All columns of a record but the timings. Its hash, a checksum, tells equal runs.",
    ),
    (
        "variant",
        "variant",
        "A point of a sweep that the paper itself makes.",
    ),
    (
        "verdict",
        "verdict",
        "The outcome of a claim, with its reasons and qualifiers.",
    ),
)
