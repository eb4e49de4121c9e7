/** Counters and histograms in the text format of Prometheus. Labels are given in the order of their names. */
export interface Counter {
  add(labels: readonly string[], by?: number): void;
}

export interface Histogram {
  observe(labels: readonly string[], value: number): void;
}

interface Family {
  readonly render: () => readonly string[];
}

export class MetricRegistry {
  readonly #families: Family[] = [];

  counter(name: string, help: string, labelNames: readonly string[]): Counter {
    const values = new Map<string, number>();
    this.#families.push({
      render: () => [
        ...head(name, help, 'counter'),
        ...[...values].map(([labels, value]) => `${name}${braces(labels)} ${value}`),
      ],
    });
    return {
      add: (labels, by = 1) => {
        const key = labelText(labelNames, labels);
        values.set(key, (values.get(key) ?? 0) + by);
      },
    };
  }

  histogram(
    name: string,
    help: string,
    options: { labelNames: readonly string[]; buckets: readonly number[] },
  ): Histogram {
    const { labelNames, buckets } = options;
    const series = new Map<string, { readonly counts: number[]; sum: number; count: number }>();
    this.#families.push({
      render: () => [
        ...head(name, help, 'histogram'),
        ...[...series].flatMap(([labels, { counts, sum, count }]) => [
          ...buckets.map((le, i) => `${name}_bucket${braces(labels, `le="${le}"`)} ${counts[i] ?? 0}`),
          `${name}_bucket${braces(labels, 'le="+Inf"')} ${count}`,
          `${name}_sum${braces(labels)} ${sum}`,
          `${name}_count${braces(labels)} ${count}`,
        ]),
      ],
    });
    return {
      observe: (labels, value) => {
        const key = labelText(labelNames, labels);
        const entry = series.get(key) ?? { counts: buckets.map(() => 0), sum: 0, count: 0 };
        series.set(key, entry);
        for (const [i, le] of buckets.entries()) if (value <= le) entry.counts[i] = (entry.counts[i] ?? 0) + 1;
        entry.sum += value;
        entry.count += 1;
      },
    };
  }

  /** Read when somebody asks. */
  gauge(name: string, help: string, read: () => readonly (readonly [labels: string, value: number])[]): void {
    this.#families.push({
      render: () => [
        ...head(name, help, 'gauge'),
        ...read().map(([labels, value]) => `${name}${braces(labels)} ${value}`),
      ],
    });
  }

  render(): string {
    return `${this.#families.flatMap((family) => family.render()).join('\n')}\n`;
  }
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
