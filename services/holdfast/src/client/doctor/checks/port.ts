import type { Check } from '../check.ts';
import { type Judgement, ok, problem } from '../finding.ts';
import { listenError } from '../probes.ts';

export const PORT: Check = {
  name: 'port',
  look: async ({ host, port }) => judgePort(`${host}:${port}`, await listenError(host, port)),
};

export function judgePort(address: string, error: string | undefined): Judgement {
  switch (error) {
    case undefined:
      return ok(`${address} is free`);
    case 'EADDRINUSE':
      return problem(
        `${address} is in use`,
        'Stop the program that listens there (a cluster that runs already?), or start with another --port; 0 takes a free one.',
      );
    case 'EACCES':
      return problem(`this user may not listen at ${address}`, 'Start with a --port above 1023.');
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return problem(`${address} is not an address of this machine`, 'Start with another --host, such as 127.0.0.1.');
    default:
      return problem(`${address} cannot be listened at: ${error}`, 'Start with another --host or --port.');
  }
}
