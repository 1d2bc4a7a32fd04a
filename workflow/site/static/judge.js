// Judges a claim again from the numbers of its seeds, as workflow/judge/checks.py and claims.py do: the same tests, looks and
// words. A browser test compares every verdict and p-value at the default settings with Python's.
"use strict";

const judging = (() => {
  const LEVEL = 0.05;
  const LOOKS = [[5, 1 / 32], [10, 0.026]]; // seeds, level at LEVEL = 0.05
  const ENOUGH = 5;
  const FULL = 10;
  const SPREADS = 3;
  const MOST = 0.5;
  const SLACK = 1 + 1e-12; // of the last digits, where a p is exactly a level
  const OF_ALL = ["share", "band", "bound"];

  // ---- distributions ------------------------------------------------------------------------------------------------------
  const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

  const logGamma = (z) => {
    if (z < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * z)) - logGamma(1 - z);
    const x = z - 1;
    const sum = LANCZOS.reduce((total, c, i) => (i ? total + c / (x + i) : c), 0);
    const t = x + 7.5;
    return 0.5 * Math.log(2 * Math.PI) + (x + 0.5) * Math.log(t) - t + Math.log(sum);
  };

  // The continued fraction of the incomplete beta function, by Lentz's method.
  const fraction = (x, a, b) => {
    const tiny = 1e-300;
    const away = (value) => (Math.abs(value) < tiny ? tiny : value);
    let c = 1;
    let d = 1 / away(1 - ((a + b) * x) / (a + 1));
    let h = d;
    for (let m = 1; m < 500; m += 1) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      let last = 1;
      for (const term of [even, odd]) {
        d = 1 / away(1 + term * d);
        c = away(1 + term / c);
        last = d * c;
        h *= last;
      }
      if (Math.abs(last - 1) < 1e-16) break;
    }
    return h;
  };

  // The regularised incomplete beta function I_x(a, b).
  const beta = (x, a, b) => {
    if (Number.isNaN(x)) return NaN;
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
    return x < (a + 1) / (a + b + 2) ? (front * fraction(x, a, b)) / a : 1 - (front * fraction(1 - x, b, a)) / b;
  };

  const tBelow = (t, free) => {
    const tail = 0.5 * beta(free / (free + t * t), free / 2, 0.5);
    return t < 0 ? tail : 1 - tail;
  };

  const fBelow = (x, one, other) => beta((one * x) / (one * x + other), one / 2, other / 2);

  // The smallest x between two ends at which a rising function reaches a value.
  const solve = (rising, value, low, high) => {
    let [a, b] = [low, high];
    for (let step = 0; step < 200; step += 1) {
      const middle = (a + b) / 2;
      if (rising(middle) < value) a = middle; else b = middle;
    }
    return (a + b) / 2;
  };

  const tQuantile = (q, free) => solve((t) => tBelow(t, free), q, 0, 1e4);
  const fQuantile = (q, one, other) => 1 / solve((u) => 1 - fBelow(1 / u - 1, one, other), 1 - q, 0, 1) - 1;

  const choose = (n, k) => { let found = 1; for (let i = 0; i < k; i += 1) found = (found * (n - i)) / (i + 1); return found; };
  const atLeast = (hits, n, p) => { let sum = 0; for (let k = n; k >= hits; k -= 1) sum += choose(n, k) * p ** k * (1 - p) ** (n - k); return Math.min(1, sum); };
  const atMost = (hits, n, p) => { let sum = 0; for (let k = 0; k <= hits; k += 1) sum += choose(n, k) * p ** k * (1 - p) ** (n - k); return Math.min(1, sum); };

  // ---- tests of a mean ----------------------------------------------------------------------------------------------------
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const deviation = (values) => {
    const centre = mean(values);
    return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
  };

  const interval = (values) => {
    const seen = values.filter((value) => !Number.isNaN(value));
    const n = seen.filter(Number.isFinite).length;
    if (n < 2) return [NaN, NaN];
    const half = (tQuantile(0.975, n - 1) * deviation(seen)) / Math.sqrt(n);
    return [mean(seen) - half, mean(seen) + half];
  };

  const tTest = (values) => {
    const n = values.length;
    if (n < 2 || !values.every(Number.isFinite)) return NaN;
    const centre = mean(values);
    const error = deviation(values) / Math.sqrt(n);
    if (error <= 1e-12 * Math.abs(centre) || error === 0) return centre < 0 ? 0.5 ** n : 1;
    return tBelow(centre / error, n - 1);
  };

  // The share of all sign patterns whose sum is at most the observed one.
  const signFlip = (values) => {
    if (!values.length || !values.every(Number.isFinite)) return NaN;
    let sums = [0];
    for (const value of values) sums = sums.flatMap((sum) => [sum + value, sum - value]);
    const size = values.reduce((sum, value) => sum + Math.abs(value), 0);
    const most = values.reduce((sum, value) => sum + value, 0) + 1e-12 * size;
    return sums.filter((sum) => sum <= most).length / sums.length;
  };

  const negated = (values) => values.map((value) => -value);

  const belowZero = (values) => {
    const [low, high] = interval(values);
    return { n: values.length, mean: mean(values), low, high, p: tTest(values), flip: signFlip(values),
      against: tTest(negated(values)), flipAgainst: signFlip(negated(values)) };
  };

  const quantile = (sorted, position) => sorted[Math.min(Math.max(Math.ceil(position), 0), sorted.length - 1)];

  const rankedBelowZero = (values) => {
    const n = values.length;
    if (values.some(Number.isNaN)) return { n, mean: NaN, low: NaN, high: NaN, p: NaN, flip: NaN, against: NaN, flipAgainst: NaN };
    const sorted = [...values].sort((a, b) => a - b);
    const [low, below, high] = [0.25, 0.5, 0.75].map((q) => quantile(sorted, n * q - 1));
    const above = quantile(sorted, (n - 1) / 2);
    let middle = Math.abs(above) < Math.abs(below) ? above : below;
    if (below < 0 && above > 0) middle = 0;
    const sizes = values.map(Math.abs);
    const rank = (size) => sizes.filter((other) => other < size).length + (sizes.filter((other) => other === size).length + 1) / 2;
    const ranks = values.map((value) => Math.sign(value) * rank(Math.abs(value)));
    const [p, against] = [signFlip(ranks), signFlip(negated(ranks))];
    return { n, mean: middle, low, high, p, flip: p, against, flipAgainst: against };
  };

  const either = (one, other) => ({
    ...one, p: Math.max(one.p, other.p), flip: Math.max(one.flip, other.flip),
    against: Math.min(1, 2 * Math.min(one.against, other.against)),
    flipAgainst: Math.min(1, 2 * Math.min(one.flipAgainst, other.flipAgainst)),
  });

  const within = (values, tolerances) => {
    const [low, high] = interval(values);
    const one = belowZero(values.map((value, i) => value - tolerances[i]));
    const other = belowZero(values.map((value, i) => -value - tolerances[i]));
    return { ...either(one, other), mean: mean(values), low, high };
  };

  const share = (hits, n, least = 0, most = 1) => {
    const p = [0];
    const against = [1];
    if (least > 0) { p.push(atLeast(hits, n, least)); against.push(atMost(hits, n, least)); }
    if (most < 1) { p.push(atMost(hits, n, most)); against.push(atLeast(hits, n, most)); }
    const low = hits === 0 ? 0 : solve((x) => beta(x, hits, n - hits + 1), 0.025, 0, 1);
    const high = hits === n ? 1 : solve((x) => beta(x, hits + 1, n - hits), 0.975, 0, 1);
    const worst = Math.max(...p);
    const refuted = Math.min(1, (against.length - 1) * Math.min(...against));
    return { n, mean: hits / n, low, high, p: worst, flip: worst, against: refuted, flipAgainst: refuted };
  };

  // ---- the tests of checks ------------------------------------------------------------------------------------------------
  const told = (test, kind, holds, borders, words) => ({ ...test, kind, holds, borders, effect: test.mean, words, undecided: "" });

  const difference = (left, right) => (left === right ? 0 : left - right);
  const times = (what, factor) => (factor === 1 ? what : `${what}${factor} x `);

  const ordered = (check, what, { left, right }) => {
    const sign = check.test === "less" ? 1 : -1;
    const factor = check.factor ?? 1;
    const words = what.replace(" and ", times(sign > 0 ? " < " : " > ", factor));
    if (check.compare === "ratio") {
      const distance = left.map((value, i) => Math.log(value) - Math.log(right[i]));
      const test = belowZero(distance.map((value) => sign * (value - Math.log(factor))));
      const [low, high] = interval(distance).map(Math.exp);
      return told({ ...test, mean: Math.exp(mean(distance)), low, high }, "ratio", test.mean < 0, [factor], words);
    }
    const scaled = right.map((value) => factor * value);
    if ([...left, ...right].some((value) => Math.abs(value) === Infinity)) {
      const test = rankedBelowZero(left.map((value, i) => sign * difference(value, scaled[i])));
      const ends = [sign * test.low, sign * test.high].sort((a, b) => a - b);
      const shown = { ...test, mean: sign * test.mean, low: ends[0], high: ends[1] };
      return told(shown, "median difference by rank", test.mean < 0, [0], words);
    }
    const distance = left.map((value, i) => value - scaled[i]);
    const test = belowZero(distance.map((value) => sign * value));
    const [low, high] = interval(distance);
    return told({ ...test, mean: mean(distance), low, high }, "difference", test.mean < 0, [0], words);
  };

  const passes = (check, what, { value }) => {
    const bound = check.at_most;
    const test = rankedBelowZero(value.map((each) => each - bound - 0.5));
    const shown = { ...test, mean: test.mean + bound + 0.5, low: test.low + bound + 0.5, high: test.high + bound + 0.5 };
    return told(shown, "median evaluation by rank", test.mean < 0, [bound], what.replace(" and ", " reaches the end of "));
  };

  // a number as Python's {:.3g} writes it
  const general = (value) => {
    const [digits, power] = value.toExponential(2).split("e").map(Number);
    if (value === 0 || (power >= -4 && power < 3)) return String(Number(value.toPrecision(3)));
    return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  };

  const equivalent = (check, what, { left, right }) => {
    const tolerances = right.map((value) => ("absolute" in check ? check.absolute : check.tolerance * Math.abs(value)));
    const distance = left.map((value, i) => value - right[i]);
    const edge = mean(tolerances);
    const words = `${what.replace(" and ", " = ")} within ${general(edge)}`;
    return told(within(distance, tolerances), "difference", Math.abs(mean(distance)) < edge, [-edge, edge], words);
  };

  const published = (check, what, { value }) => {
    const off = value.map((each) => each / check.value - 1);
    const test = within(off, off.map(() => check.tolerance));
    const shown = { ...test, mean: test.mean + 1, low: test.low + 1, high: test.high + 1 };
    return told(shown, "ratio", Math.abs(test.mean) < check.tolerance, [1 - check.tolerance, 1 + check.tolerance], `${what} over the published ${check.value}`);
  };

  const spread = (check, what, { left, right }) => {
    const factor = check.factor ?? SPREADS;
    const [n, mine, other] = [left.length, deviation(left), deviation(right)];
    const ratio = n > 1 && other > 0 ? mine / other : NaN;
    const free = Math.max(n - 1, 1);
    const [low, high] = [0.975, 0.025].map((q) => ratio / Math.sqrt(fQuantile(q, free, free)));
    const below = Number.isNaN(ratio) ? NaN : fBelow(ratio ** 2, free, free);
    const test = { n, mean: ratio, low, high, p: below, flip: NaN, against: 1 - below, flipAgainst: NaN };
    const found = told(test, "ratio of spreads", ratio < 1, [1], what.replace(" and ", " spreads less than "));
    const isClose = 1 / factor < ratio && ratio < factor;
    return { ...found, undecided: isClose ? `ratio of spreads within a factor ${factor}` : "" };
  };

  const exponent = (check, what, { value }) => {
    const tests = [];
    if ("at_most" in check) tests.push(belowZero(value.map((each) => each - check.at_most)));
    if ("at_least" in check) tests.push(belowZero(value.map((each) => check.at_least - each)));
    const [low, high] = interval(value);
    const both = tests.length === 1 ? tests[0] : either(...tests);
    const borders = ["at_least", "at_most"].filter((key) => key in check).map((key) => check[key]);
    return told({ ...both, mean: mean(value), low, high }, "exponent", tests.every((test) => test.mean < 0), borders, what);
  };

  const monotone = (check, what, { value }) => {
    const sign = check.direction === "increasing" ? 1 : -1;
    const test = belowZero(value.map((each) => -sign * each));
    const [low, high] = interval(value);
    return told({ ...test, mean: mean(value), low, high }, "Kendall's tau", test.mean < 0, [0], what);
  };

  const ofSeeds = (check, what, { value }) => {
    const borders = ["at_least", "at_most"].filter((key) => key in check).map((key) => check[key]);
    if (value.some(Number.isNaN)) {
      return told({ n: value.length, mean: NaN, low: NaN, high: NaN, p: NaN, flip: NaN, against: NaN, flipAgainst: NaN }, "share of seeds", false, borders, what);
    }
    const { at_least: floor = -Infinity, at_most: ceiling = Infinity } = check.event;
    const hits = value.filter((each) => each >= floor && each <= ceiling).length;
    const [least, most] = [check.at_least ?? 0, check.at_most ?? 1];
    const test = share(hits, value.length, least, most);
    return told(test, "share of seeds", least <= test.mean && test.mean <= most, borders, `${what}: ${hits} of ${value.length} seeds`);
  };

  // A statement about every row: `rows` of a seed, how many are `kept`, the `least` and the `most` of their numbers.
  const ofRows = (check, what, { rows, kept, least, most }, number) => {
    const [n, wanted] = [rows.length, check.share ?? 1];
    const seeds = rows.map((many, i) => (many ? kept[i] / many >= wanted : null)).filter((each) => each !== null);
    const hits = seeds.filter(Boolean).length;
    const broken = seeds.length - hits;
    const total = (values) => values.reduce((sum, value) => sum + value, 0);
    const part = broken || seeds.length === n ? total(kept) / total(rows) : NaN;
    const numbers = (values) => values.filter((value) => !Number.isNaN(value));
    const ends = numbers(least).length ? [Math.min(...numbers(least)), Math.max(...numbers(most))] : [NaN, NaN];
    const test = { n, mean: part, low: ends[0], high: ends[1], p: share(hits, n, MOST).p, flip: NaN, against: share(n - broken, n, 1).against, flipAgainst: NaN };
    const borders = number === "ratio" ? [1] : ["at_least", "at_most"].filter((key) => key in check).map((key) => check[key]);
    return told(test, `share of rows, ${number}`, hits === n, borders, `${what}: ${hits} of ${n} seeds`);
  };

  // Where a bound was moved, the extremes of a seed say whether all its rows keep it; `moved` has what was printed.
  const band = (check, what, data, moved) => {
    if (!moved) return ofRows(check, what, data, "value");
    const [floor, ceiling] = [check.at_least ?? -Infinity, check.at_most ?? Infinity];
    const kept = data.rows.map((many, i) => (data.least[i] >= floor && data.most[i] <= ceiling ? many : 0));
    return ofRows(check, what, { ...data, kept }, "value");
  };

  const bound = (check, what, data, moved) => {
    const words = what.replace(" and ", times(" <= ", check.factor ?? 1));
    if (!moved) return ofRows(check, words, data, "ratio");
    const scale = (moved.factor ?? 1) / check.factor;
    const [least, most] = [data.least, data.most].map((values) => values.map((value) => value * scale));
    const kept = data.rows.map((many, i) => (most[i] <= 1 || (Number.isNaN(most[i]) && many) ? many : 0));
    return ofRows(check, words, { rows: data.rows, kept, least, most }, "ratio");
  };

  const TESTS = { less: ordered, more: ordered, passes, equivalent, published, spread, exponent, monotone, share: ofSeeds, band, bound };

  // Which numbers of a check may be moved in the page.
  const movable = (check) => {
    const whole = (check.share ?? 1) === 1;
    if (["less", "more"].includes(check.test)) return { factor: check.factor ?? 1 };
    if (check.test === "spread") return { factor: check.factor ?? SPREADS };
    if (check.test === "bound") return whole && !check.plus ? { factor: check.factor ?? 1 } : {};
    if (check.test === "band" && !whole) return {};
    return Object.fromEntries(["tolerance", "absolute", "at_least", "at_most"].filter((key) => key in check).map((key) => [key, check[key]]));
  };

  // ---- looks, sides and words ---------------------------------------------------------------------------------------------
  const number = (value) => (value === null ? NaN : Number(value === "inf" ? Infinity : value === "-inf" ? -Infinity : value));
  const COLUMNS = ["left", "right", "value", "rows", "kept", "least", "most"];

  const of = (part, seeds) => {
    const at = part.seeds.map((seed, i) => [seed, i]).filter(([seed]) => seeds.has(seed)).map(([, i]) => i);
    return Object.fromEntries(COLUMNS.filter((name) => name in part).map((name) => [name, at.map((i) => number(part[name][i]))]));
  };

  const hasNumber = (found) => Number.isFinite(found.effect) || (found.kind.endsWith("by rank") && !Number.isNaN(found.effect));

  const side = (found, many, level) => {
    if (found.undecided || !hasNumber(found)) return "";
    if (found.holds) return found.p <= found.level * SLACK ? "for" : "";
    const shared = many === 1 ? found.level : level / (many * found.looks);
    return found.against <= shared * SLACK ? "against" : "";
  };

  const tooFew = (n) => `${n} seed${n === 1 ? "" : "s"}, ${ENOUGH} are needed`;
  const looksOf = (planned, level) => (planned < FULL ? [[Math.max(planned, ENOUGH), level]] : LOOKS.map(([seeds, at]) => [seeds, (at * level) / LEVEL]));

  const compare = (check, part, many, settings, moved) => {
    const what = part.what;
    const blank = { words: what, what, kind: "", effect: NaN, low: NaN, high: NaN, holds: false, p: NaN, flip: NaN, against: NaN,
      n: 0, side: "", few: "", decides: "", looks: 1, undecided: "", borders: [] };
    if (part.missing) return { ...blank, missing: part.missing };
    const read = (data, level, looks) => ({ what, ...TESTS[check.test](check, what, data, moved), level, looks });
    const done = (found) => ({ ...found, decides: found.few ? "" : found.side });
    const chosen = new Set(part.seeds.filter((seed) => !settings.without.has(seed)));
    const isWhole = chosen.size === part.seeds.length;
    if (!chosen.size) return { ...blank, few: tooFew(0) };
    if (settings.deterministic) {
      const found = read(of(part, chosen), settings.level, 1);
      const at = hasNumber(found) ? (found.holds ? "for" : "against") : "";
      return { ...found, p: NaN, flip: NaN, against: NaN, side: at, few: "", decides: at };
    }
    const plan = looksOf(part.planned, settings.level);
    if (OF_ALL.includes(check.test)) {
      const found = read(of(part, chosen), plan.at(-1)[1], plan.length);
      if (hasNumber(found) && found.against === 0) return done({ ...found, side: "against", few: found.n < ENOUGH ? tooFew(found.n) : "" });
    }
    if (!isWhole) { // another set of seeds: one look, at all of them
      const found = read(of(part, chosen), settings.level, 1);
      return done({ ...found, side: side(found, many, settings.level), few: found.n < ENOUGH ? tooFew(found.n) : "" });
    }
    let latest = null;
    let decided = "";
    for (const [seeds, level] of plan) {
      if (!(seeds in part.looks)) break;
      const isFirst = seeds === plan[0][0];
      latest = read(of((isFirst && part.narrow) || part, new Set(part.looks[seeds])), level, plan.length);
      if (!decided && latest.n >= ENOUGH) decided = side(latest, many, settings.level);
    }
    if (latest === null || latest.n < ENOUGH) {
      latest ??= read(of(part, chosen), plan[0][1], plan.length);
      const few = latest.n >= ENOUGH ? `the first ${plan[0][0]} seeds are not all there` : tooFew(latest.n);
      return done({ ...latest, side: side(latest, many, settings.level), few });
    }
    return done({ ...latest, side: decided, few: "" });
  };

  const observed = (found) => {
    if (!found.length) return "nothing to compare";
    if (found.some((one) => one.side === "against")) return "contradicted";
    if (found.some((one) => one.missing)) return "not run";
    if (found.some((one) => !hasNumber(one))) return "no number";
    if (found.every((one) => one.side === "for")) return "reproduced";
    return found.every((one) => one.holds || one.side === "for") ? "direction only" : "inconclusive";
  };

  const lacking = (found) => {
    if (found.some((one) => one.decides === "against")) return [];
    const missing = [...new Set(found.map((one) => one.missing).filter(Boolean))];
    const reasons = missing.slice(0, 1);
    if (missing.length > 1) reasons.push(`and ${missing.length - 1} more`);
    reasons.push(...found.map((one) => one.few).filter(Boolean));
    if (!found.length) reasons.push("nothing to compare at this scale");
    if (found.some((one) => !one.missing && !hasNumber(one))) reasons.push("a comparison has no number at this budget");
    return [...new Set([...reasons, ...found.map((one) => one.undecided).filter(Boolean)])];
  };

  const under = (check, runs, settings, moved) => {
    const found = runs.parts.map((part) => compare(check, part, runs.parts.length, settings, moved));
    const reasons = [...runs.barred, ...lacking(found)];
    const seen = observed(found);
    return { observed: seen, verdict: reasons.length ? "not decided" : seen, reasons, comparisons: found };
  };

  // A claim under all its readings. `level`: that of both looks together; `numbers`: of its check, where they are others than
  // the claim's own; `without`: the seeds that are left out.
  const judge = (claim, { level = LEVEL, numbers = {}, without = [] } = {}) => {
    const own = movable(claim.check);
    const changed = Object.entries(numbers).filter(([key, value]) => key in own && value !== own[key]);
    const check = { ...claim.check, ...Object.fromEntries(changed) };
    const settings = { level, without: new Set(without), deterministic: claim.deterministic };
    const moved = changed.length ? { ...own } : null;
    const readings = Object.entries(claim.readings).map(([name, runs]) => [name, under(check, runs, settings, moved)]);
    return { default: under(check, claim.default, settings, moved), readings: Object.fromEntries(readings) };
  };

  return { judge, movable, LEVEL };
})();
