import type { PluginMetrics } from 'agent-gateway';

/** What was counted or observed: the metric's name without `svc_`, the values of its labels, the value. */
export type Measured = readonly [name: string, labels: string, value: number];

/** Metrics that only note down what is measured. */
export function fakeMetrics(measured: Measured[] = []): PluginMetrics {
  const metric = ({ name }: { readonly name: string }) => {
    const note = (first: object | number = 1, value = 1) => {
      const [labels, amount] = typeof first === 'number' ? [{}, first] : [first, value];
      measured.push([name.replace(/^svc_/, ''), Object.values(labels).join(' '), amount]);
    };
    return { inc: note, observe: note, set: note } as never;
  };
  return { counter: metric, gauge: metric, histogram: metric };
}
