import { TransportError } from '@holdfast/client';
import type { LensKind } from '../kind.ts';
import { Watches } from '../watches.ts';

export const UNREACHABLE: LensKind<object> = {
  summary: 'No request reaches the API server, and open watches are cut',
  isView: true,
  settings: {},
  open: (_settings, { onHit }) => {
    const watches = new Watches();
    return {
      on: () => watches.end(new TransportError('a lens cut the connection')),
      pass: (asked, next) => (asked.info.verb === 'watch' ? watches.open(asked, next) : next(asked.request)),
      handle: async (asked) => {
        await onHit(asked);
        throw new TransportError('a lens keeps the client from the API server', { possiblySent: false });
      },
    };
  },
};
