import type { Clock } from '@holdfast/platform';
import { SERVER_BACKOFF_BASE_MS, SERVER_BACKOFF_MAX_MS } from '../limits.ts';

/** Orders the servers: the last one that succeeded first, recently failed ones last, by the end of their back-off. */
export interface ServerPool {
  order(): readonly string[];
  served(server: string): void;
  failed(server: string): void;
}

interface Health {
  failures: number;
  avoidUntilMs: number;
}

export function createServerPool(servers: readonly string[], clock: Clock): ServerPool {
  const healthOf = new Map(servers.map((server): [string, Health] => [server, { failures: 0, avoidUntilMs: 0 }]));
  let preferred = servers[0];
  const rank = (server: string, nowMs: number): number => {
    const { avoidUntilMs } = healthOf.get(server) ?? { avoidUntilMs: 0 };
    if (avoidUntilMs > nowMs) return avoidUntilMs;
    return server === preferred ? -1 : 0;
  };
  return {
    order: () => {
      const nowMs = clock.monotonic();
      return servers.toSorted((a, b) => rank(a, nowMs) - rank(b, nowMs));
    },
    served: (server) => {
      preferred = server;
      healthOf.set(server, { failures: 0, avoidUntilMs: 0 });
    },
    failed: (server) => {
      const health = healthOf.get(server) ?? { failures: 0, avoidUntilMs: 0 };
      const waitMs = Math.min(SERVER_BACKOFF_BASE_MS * 2 ** health.failures, SERVER_BACKOFF_MAX_MS);
      healthOf.set(server, { failures: health.failures + 1, avoidUntilMs: clock.monotonic() + waitMs });
    },
  };
}
