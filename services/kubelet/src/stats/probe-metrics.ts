import { MetricRegistry } from '@holdfast/platform';

export interface ProbeObservation {
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly container: string;
  readonly kind: 'startup' | 'readiness' | 'liveness';
  readonly result: 'successful' | 'failed' | 'unknown';
  readonly seconds: number;
}

/** The default buckets of Prometheus clients. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const TYPES = { startup: 'Startup', readiness: 'Readiness', liveness: 'Liveness' } as const;

/** `/metrics/probes`: the results of the probes of existing pods. */
export class ProbeMetrics {
  readonly #registry = new MetricRegistry();
  readonly #total = this.#registry.counter(
    'prober_probe_total',
    'Cumulative number of a liveness, readiness or startup probe for a container by result.',
    ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
  );
  readonly #duration = this.#registry.histogram(
    'prober_probe_duration_seconds',
    'Duration in seconds for a probe response.',
    { labelNames: ['probe_type', 'container', 'pod', 'namespace'], buckets: BUCKETS },
  );
  /** Functions that remove the series of a pod. */
  readonly #ends = new Map<string, Map<string, () => void>>();

  observe({ namespace, pod, podUid, container, kind, result, seconds }: ProbeObservation): void {
    const total = [TYPES[kind], result, container, pod, namespace, podUid];
    const duration = [TYPES[kind], container, pod, namespace];
    this.#total.add(total);
    this.#duration.observe(duration, seconds);
    const ends = this.#ends.get(podUid) ?? new Map<string, () => void>();
    this.#ends.set(podUid, ends);
    const key = `${container}/${kind}/${result}`;
    if (ends.has(key)) return;
    ends.set(key, () => {
      this.#total.forget(total);
      this.#duration.forget(duration);
    });
  }

  /** Pods come and go without end. */
  forget(podUid: string): void {
    for (const end of this.#ends.get(podUid)?.values() ?? []) end();
    this.#ends.delete(podUid);
  }

  render(): string {
    return this.#registry.render();
  }
}
