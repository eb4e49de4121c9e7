/** Counters and histograms in Prometheus text format. Pass labels in the order of their names. */
export interface Counter {
  add(labels: readonly string[], by?: number): void;
  /** Returns an increment function for labels that are looked up once. Not for series that `forget` removes. */
  series(labels: readonly string[]): () => void;
  /** Removes a series whose subject no longer exists. */
  forget(labels: readonly string[]): void;
}

export interface Histogram {
  observe(labels: readonly string[], value: number): void;
  /** Returns an observe function for labels that are looked up once. Not for series that `forget` removes. */
  series(labels: readonly string[]): (value: number) => void;
  forget(labels: readonly string[]): void;
}

interface Family {
  readonly render: () => readonly string[];
}

export class MetricRegistry {
  readonly #families: Family[] = [];

  counter(name: string, help: string, labelNames: readonly string[]): Counter {
    const values = new Map<string, { count: number }>();
    const texts = labelTexts(labelNames);
    this.#families.push({
      render: () => [
        ...head(name, help, 'counter'),
        ...[...values].map(([labels, { count }]) => `${name}${braces(labels)} ${count}`),
      ],
    });
    const entryOf = (labels: readonly string[]): { count: number } => {
      const key = texts.of(labels);
      const known = values.get(key);
      if (known !== undefined) return known;
      const entry = { count: 0 };
      values.set(key, entry);
      return entry;
    };
    return {
      add: (labels, by = 1) => {
        entryOf(labels).count += by;
      },
      series: (labels) => {
        let entry: { count: number } | undefined;
        return () => {
          // Created on the first event: a series without events is not shown.
          entry ??= entryOf(labels);
          entry.count += 1;
        };
      },
      forget: (labels) => {
        values.delete(texts.of(labels));
        texts.forget(labels);
      },
    };
  }

  histogram(
    name: string,
    help: string,
    options: { labelNames: readonly string[]; buckets: readonly number[] },
  ): Histogram {
    const { labelNames, buckets } = options;
    const series = new Map<string, Series>();
    const texts = labelTexts(labelNames);
    this.#families.push({
      render: () => [
        ...head(name, help, 'histogram'),
        ...[...series].flatMap(([labels, { firstFits, sum, count }]) => [
          ...buckets.map((le, i) => `${name}_bucket${braces(labels, `le="${le}"`)} ${sumUpTo(firstFits, i)}`),
          `${name}_bucket${braces(labels, 'le="+Inf"')} ${count}`,
          `${name}_sum${braces(labels)} ${sum}`,
          `${name}_count${braces(labels)} ${count}`,
        ]),
      ],
    });
    const entryOf = (labels: readonly string[]): Series => {
      const key = texts.of(labels);
      const known = series.get(key);
      if (known !== undefined) return known;
      const entry: Series = { firstFits: buckets.map(() => 0), sum: 0, count: 0 };
      series.set(key, entry);
      return entry;
    };
    return {
      observe: (labels, value) => note(entryOf(labels), buckets, value),
      series: (labels) => {
        let entry: Series | undefined;
        return (value) => {
          // Created on the first value: a series without values is not shown.
          entry ??= entryOf(labels);
          note(entry, buckets, value);
        };
      },
      forget: (labels) => {
        series.delete(texts.of(labels));
        texts.forget(labels);
      },
    };
  }

  /** `read` runs on every scrape. */
  gauge(name: string, help: string, read: () => readonly (readonly [labels: string, value: number])[]): void {
    this.#readWhenAsked(name, help, { type: 'gauge', read });
  }

  /** A counter that other code keeps, where counting through this registry would cost too much. */
  counted(name: string, help: string, read: () => readonly (readonly [labels: string, value: number])[]): void {
    this.#readWhenAsked(name, help, { type: 'counter', read });
  }

  /** A histogram that other code keeps. `read` runs on every scrape. */
  readHistogram(name: string, help: string, read: () => readonly HistogramReading[]): void {
    this.#families.push({
      render: () => [
        ...head(name, help, 'histogram'),
        ...read().flatMap(({ labels, buckets, cumulative, sum, count }) => [
          ...buckets.map((le, i) => `${name}_bucket${braces(labels, `le="${le}"`)} ${cumulative[i] ?? 0}`),
          `${name}_bucket${braces(labels, 'le="+Inf"')} ${count}`,
          `${name}_sum${braces(labels)} ${sum}`,
          `${name}_count${braces(labels)} ${count}`,
        ]),
      ],
    });
  }

  #readWhenAsked(
    name: string,
    help: string,
    {
      type,
      read,
    }: { readonly type: string; readonly read: () => readonly (readonly [labels: string, value: number])[] },
  ): void {
    this.#families.push({
      render: () => [
        ...head(name, help, type),
        ...read().map(([labels, value]) => `${name}${braces(labels)} ${value}`),
      ],
    });
  }

  render(): string {
    return `${this.#families.flatMap((family) => family.render()).join('\n')}\n`;
  }
}

export interface HistogramReading {
  readonly labels: string;
  readonly buckets: readonly number[];
  /** The number of values up to each bucket. */
  readonly cumulative: readonly number[];
  readonly sum: number;
  readonly count: number;
}

interface Series {
  /**
   * Per bucket, the number of values for which it is the first that is large enough. The reader makes the cumulative
   * sums.
   */
  readonly firstFits: number[];
  sum: number;
  count: number;
}

function note(entry: Series, buckets: readonly number[], value: number): void {
  let at = 0;
  while (at < buckets.length && value > (buckets[at] ?? 0)) at++;
  if (at < buckets.length) entry.firstFits[at] = (entry.firstFits[at] ?? 0) + 1;
  entry.sum += value;
  entry.count += 1;
}

function sumUpTo(values: readonly number[], last: number): number {
  let sum = 0;
  for (let i = 0; i <= last; i++) sum += values[i] ?? 0;
  return sum;
}

/** Remembers the texts of labels: metrics repeat them, and the number of series bounds them. */
function labelTexts(names: readonly string[]): {
  readonly of: (labels: readonly string[]) => string;
  readonly forget: (labels: readonly string[]) => void;
} {
  const known = new Map<string, string>();
  const joinedOf = (labels: readonly string[]): string =>
    labels.length === 1 ? (labels[0] ?? '') : labels.join('\u0000');
  return {
    of: (labels) => {
      const joined = joinedOf(labels);
      let text = known.get(joined);
      if (text === undefined) {
        text = labelText(names, labels);
        known.set(joined, text);
      }
      return text;
    },
    forget: (labels) => void known.delete(joinedOf(labels)),
  };
}

export function labelText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, i) => `${name}="${escapeLabel(values[i] ?? '')}"`).join(',');
}

const escapeLabel = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

const head = (name: string, help: string, type: string): readonly string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

function braces(...labels: readonly string[]): string {
  const present = labels.filter((each) => each !== '');
  return present.length === 0 ? '' : `{${present.join(',')}}`;
}
