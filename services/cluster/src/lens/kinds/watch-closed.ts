import type { LensKind } from '../kind.ts';
import { Watches } from '../watches.ts';

export const WATCH_CLOSED: LensKind<object> = {
  summary: 'The open watches end, once; new ones continue',
  isView: true,
  verbs: ['watch'],
  settings: {},
  open: () => {
    const watches = new Watches();
    return {
      on: () => watches.end(),
      pass: (asked, next) => watches.open(asked, next),
      handle: (asked, next) => watches.open(asked, next),
    };
  },
};
