import type { Service } from './lifecycle.ts';
import { createStatusServer, statusText } from './status-server.ts';

export const HEALTH_SETTING = {
  kind: 'string',
  help: 'host:port of this machine for GET /healthz: 200, or 503 with the problems; for container health checks; default: none',
} as const;

/** Sentences about what is wrong; empty when the component works. */
export type Problems = () => readonly string[] | Promise<readonly string[]>;

/** Serves the health check of a component's container. Without an address it serves nothing. */
export function healthServers(component: string, address: string | undefined, problems: Problems): readonly Service[] {
  if (address === undefined) return [];
  return [
    createStatusServer({
      component,
      address,
      answer: async (path) => {
        if (path !== '/healthz') return statusText(404, 'there is /healthz');
        const found = await problems();
        return found.length === 0 ? statusText(200, 'ok') : statusText(503, found.join('\n'));
      },
    }),
  ];
}
