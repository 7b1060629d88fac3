/** Tasks of one kind of session, and those of them that succeeded. */
export interface ArmCount {
  readonly tasks: number;
  readonly successes: number;
}

/**
 * The effect of advice: tasks with advice compared with tasks that would have had it, in sessions that are left
 * without.
 */
export interface Uplift {
  /** Success rates, 0 to 1; null without a task. */
  readonly advised: number | null;
  readonly holdout: number | null;
  /** The difference of the rates, -1 to 1, with its 95 % interval; null where a rate is missing. */
  readonly difference: number | null;
  readonly low: number | null;
  readonly high: number | null;
  /** Tasks in all. */
  readonly n: number;
  /** The same in words. */
  readonly summary: string;
}

/** Standard deviations of an interval of 95 %. */
const Z = 1.96;

/** Compares the two with Newcombe's interval, which is also valid for few tasks and for rates near 0 and 1. Pure. */
export function upliftOf(advised: ArmCount, holdout: ArmCount): Uplift {
  const n = advised.tasks + holdout.tasks;
  const [rateAdvised, rateHoldout] = [rateOf(advised), rateOf(holdout)];
  const rates = { advised: rateAdvised, holdout: rateHoldout, n };
  if (rateAdvised === null || rateHoldout === null) {
    const missing = rateAdvised === null ? 'with advice' : 'without advice';
    return {
      ...rates,
      difference: null,
      low: null,
      high: null,
      summary: `Not known yet: there was no task ${missing} that could be compared.`,
    };
  }
  const difference = rateAdvised - rateHoldout;
  const [lowAdvised, highAdvised] = interval(advised, rateAdvised);
  const [lowHoldout, highHoldout] = interval(holdout, rateHoldout);
  const low = difference - Math.hypot(rateAdvised - lowAdvised, highHoldout - rateHoldout);
  const high = difference + Math.hypot(highAdvised - rateAdvised, rateHoldout - lowHoldout);
  return { ...rates, difference, low, high, summary: inWords(rateAdvised, rateHoldout, low, high, n) };
}

function inWords(advised: number, holdout: number, low: number, high: number, n: number): string {
  const percent = (rate: number) => Math.round(rate * 100);
  const rates = `With advice ${percent(advised)} of 100 tasks succeeded, without it ${percent(holdout)}`;
  const base = `(${n} tasks compared, 95 % interval ${signed(low)} to ${signed(high)} of 100)`;
  if (low > 0) return `Advice helps. ${rates} ${base}.`;
  if (high < 0) return `Advice hurts. ${rates} ${base}.`;
  return `Whether advice helps cannot be said yet. ${rates} ${base}.`;
}

function signed(rate: number): string {
  const points = Math.round(rate * 100);
  return points > 0 ? `+${points}` : `${points}`;
}

function rateOf({ tasks, successes }: ArmCount): number | null {
  return tasks === 0 ? null : successes / tasks;
}

/** Wilson's interval. */
function interval({ tasks }: ArmCount, rate: number): readonly [number, number] {
  const z2 = Z * Z;
  const middle = (rate + z2 / (2 * tasks)) / (1 + z2 / tasks);
  const spread = (Z * Math.sqrt((rate * (1 - rate)) / tasks + z2 / (4 * tasks * tasks))) / (1 + z2 / tasks);
  return [Math.max(0, middle - spread), Math.min(1, middle + spread)];
}
