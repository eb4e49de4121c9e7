import { binding } from './binding.ts';
import { eviction } from './eviction.ts';
import { podAttach, podExec, podPortForward } from './node-streams.ts';
import { podLog } from './pod-log.ts';
import type { Subresource } from './port.ts';
import { nodeProxy, podProxy, serviceProxy } from './proxy.ts';
import { scale } from './scale.ts';
import { token } from './token.ts';

export const SUBRESOURCES: readonly Subresource[] = [
  binding,
  eviction,
  podAttach,
  podExec,
  podLog,
  nodeProxy,
  podPortForward,
  podProxy,
  serviceProxy,
  scale,
  token,
];
