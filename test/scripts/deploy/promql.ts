import { parser } from '@prometheus-io/lezer-promql';

/** A selection of series in an expression, with the labels by which others around it group and match them. */
export interface Selector {
  readonly metric: string;
  /** Of its matchers, and of each `by`, `on` and `group_left` around it. */
  readonly labels: readonly string[];
}

/** What an expression asks for. */
export interface Expression {
  /** Where it is no PromQL; empty where it is. */
  readonly problems: readonly string[];
  readonly selectors: readonly Selector[];
  /** Labels that its result has for certain: those of its outermost grouping; undefined where it does not group. */
  readonly groups: readonly string[] | undefined;
}

type Node = ReturnType<typeof parser.parse>['topNode'];

/** Reads an expression with Prometheus' own grammar. */
export function readPromql(text: string): Expression {
  const { topNode } = parser.parse(text);
  const problems: string[] = [];
  const selectors: Selector[] = [];
  const textOf = ({ from, to }: Node) => text.slice(from, to);

  function labelsIn(node: Node): string[] {
    return node.name === 'LabelName' ? [textOf(node)] : childrenOf(node).flatMap(labelsIn);
  }

  function visit(node: Node, around: readonly string[]): void {
    if (node.type.isError) problems.push(`${text} is no PromQL at ${node.from}: ${text.slice(node.from)}`);
    if (node.name === 'VectorSelector') {
      const [name, matchers] = childrenOf(node);
      if (name?.name !== 'Identifier') problems.push(`${text}: a selector names its metric`);
      const own = matchers === undefined ? [] : labelsIn(matchers);
      selectors.push({ metric: name === undefined ? '' : textOf(name), labels: [...own, ...around] });
      return;
    }
    const children = childrenOf(node);
    const modifiers = children.filter(({ name }) => /Modifier/.test(name)).flatMap(labelsIn);
    for (const child of children) visit(child, [...around, ...modifiers]);
  }

  visit(topNode, []);
  return { problems, selectors, groups: groupsOf(topNode) };

  /** `topk` keeps the labels of what is in it, and a comparison or a quotient those of its sides. */
  function groupsOf(node: Node): readonly string[] | undefined {
    for (const child of childrenOf(node)) {
      if (child.name === 'AggregateModifier') return labelsIn(child);
    }
    const inner = childrenOf(node)
      .map(groupsOf)
      .find((found) => found !== undefined);
    if (inner !== undefined) return inner;
    return node.name === 'AggregateExpr' && !/^(?:top|bottom)k/.test(textOf(node)) ? [] : undefined;
  }
}

function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

/**
 * What a gateway tells: the labels of each series by its name, and the names of all metrics, also of those without a
 * series.
 */
export interface Exposition {
  readonly names: ReadonlySet<string>;
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Reads the text format of Prometheus. A histogram has the names of its three kinds of series. */
export function readExposition(text: string): Exposition {
  const names = new Set<string>();
  const labels = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (name !== '') {
      for (const ending of type === 'histogram'
        ? ['_bucket', '_sum', '_count']
        : type === 'summary'
          ? ['', '_sum', '_count']
          : [''])
        names.add(name + ending);
    }
    const [, series = '', inside = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (series === '') continue;
    const known = labels.get(series) ?? new Set();
    for (const [, label = ''] of inside.matchAll(/([a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"/g)) known.add(label);
    labels.set(series, known);
  }
  return { names, labels };
}

/** Labels that Prometheus itself gives to what it has read. */
const OF_THE_TARGET = ['instance', 'job'];

/** What of the selectors the gateway does not tell. */
export function untold(selectors: readonly Selector[], { names, labels }: Exposition): readonly string[] {
  return selectors.flatMap(({ metric, labels: asked }) => {
    if (!names.has(metric)) return [`there is no metric ${metric}`];
    const own = asked.filter((label) => !OF_THE_TARGET.includes(label));
    return own
      .filter((label) => labels.get(metric)?.has(label) !== true)
      .map((label) => `${metric} has no label ${label}`);
  });
}
