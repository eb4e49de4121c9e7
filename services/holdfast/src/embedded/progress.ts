/** Numbered start-up steps with their durations. */
export interface Progress {
  /** Runs one step and reports it. */
  step<T>(title: string, run: () => Promise<T> | T): Promise<T>;
  /** Reports that the cluster is ready. */
  ready(facts: ReadyFacts): void;
}

export interface ReadyFacts {
  readonly url: string;
  readonly kubeconfig: string;
  /** A link that signs one browser in, once and soon. */
  readonly console?: string | undefined;
  /** The network of pods and why. */
  readonly runtime?: string | undefined;
  readonly podNetwork?: string | undefined;
  /** With what a new cluster began: `118 objects of cluster.backup, taken 3h ago`. */
  readonly began?: string | undefined;
  readonly nextCommand: string;
  /** Warnings about this cluster's durability. */
  readonly warnings: readonly string[];
  /** Since the start of the process. */
  readonly startupMs: number;
  readonly rssMb: number;
}

export interface ProgressOptions {
  readonly steps: number;
  readonly monotonic: () => number;
  readonly print: (line: string) => void;
}

export function createTextProgress(options: ProgressOptions): Progress {
  let number = 0;
  return {
    step: (title, run) =>
      timed(options.monotonic, run, (ms) =>
        options.print(`[${++number}/${options.steps}] ${title.padEnd(34)} ${ms.toFixed(0).padStart(5)} ms`),
      ),
    ready: (facts) => {
      options.print('');
      options.print(`Holdfast is ready after ${(facts.startupMs / 1000).toFixed(2)} s (${facts.rssMb.toFixed(0)} MB).`);
      for (const warning of facts.warnings) options.print(`  Warning     ${warning}`);
      if (facts.began !== undefined) options.print(`  Began with  ${facts.began}`);
      options.print(`  API         ${facts.url}`);
      options.print(`  Kubeconfig  ${facts.kubeconfig}`);
      if (facts.console !== undefined) options.print(`  Console     ${facts.console}`);
      if (facts.runtime !== undefined) options.print(`  Runtime     ${facts.runtime}`);
      if (facts.podNetwork !== undefined) options.print(`  Pod network ${facts.podNetwork}`);
      options.print(`  Next        ${facts.nextCommand}`);
      options.print('Ctrl-C stops it.');
    },
  };
}

export function createJsonProgress(options: ProgressOptions): Progress {
  const print = (record: object): void => options.print(JSON.stringify(record));
  let number = 0;
  return {
    step: (title, run) =>
      timed(options.monotonic, run, (ms) => print({ event: 'step', number: ++number, of: options.steps, title, ms })),
    ready: (facts) => print({ event: 'ready', ...facts }),
  };
}

async function timed<T>(monotonic: () => number, run: () => Promise<T> | T, done: (ms: number) => void): Promise<T> {
  const startedAt = monotonic();
  const result = await run();
  done(monotonic() - startedAt);
  return result;
}
