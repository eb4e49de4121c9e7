import { MetricRegistry } from '@holdfast/platform';

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** How long the runtime takes to list its pods, by the name that dashboards know. */
export class RelistMetrics {
  readonly #registry = new MetricRegistry();
  readonly #took = this.#registry
    .histogram('kubelet_pleg_relist_duration_seconds', 'Time in which the runtime listed its pods.', {
      labelNames: [],
      buckets: BUCKETS,
    })
    .series([]);

  took(seconds: number): void {
    this.#took(seconds);
  }

  render(): string {
    return this.#registry.render();
  }
}
