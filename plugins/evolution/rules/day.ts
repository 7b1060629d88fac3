/** The day of a moment, in UTC: `2030-01-31`. */
export function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}
