/** Decimals of a cost: a price of nine decimals for a thousand tokens, of one token. */
const DECIMALS = 12;

/** Trillionths of a dollar as decimal text without trailing zeros (`0.000412`, `0`, `12`). Pure. */
export function dollarsOf(picos: bigint): string {
  const digits = picos.toString().padStart(DECIMALS + 1, '0');
  const whole = digits.slice(0, -DECIMALS);
  const fraction = withoutTrailingZeros(digits.slice(-DECIMALS));
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** Trillionths of a dollar of decimal text, as `dollarsOf` writes it. Pure. */
export function picosOf(dollars: string): bigint {
  const [whole = '0', fraction = ''] = dollars.split('.');
  return BigInt(whole + fraction.padEnd(DECIMALS, '0').slice(0, DECIMALS));
}

/** The exact sum of costs (`PricedUse.costUsd`), as decimal text. Pure. */
export function addDollars(costs: readonly string[]): string {
  return dollarsOf(costs.reduce((sum, cost) => sum + picosOf(cost), 0n));
}

function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}
