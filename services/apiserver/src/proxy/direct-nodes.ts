import { NODES } from '@holdfast/api';
import type { ApiHandler } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { ObjectReader } from '../cache/reader.ts';
import type { NodeGateway } from './node-gateway.ts';

/** Direct calls to the kubelets of this process. */
export interface DirectNodes {
  add(node: string, handle: ApiHandler): void;
  /** From now on connections to pods take this way, where it answers. */
  reachPods(dial: NonNullable<NodeGateway['dial']>): void;
  /** The reader distinguishes a node that does not exist from one whose kubelet is in another process. */
  gateway(reader: Pick<ObjectReader, 'fresh'>): NodeGateway;
}

export function createDirectNodes(): DirectNodes {
  const handlers = new Map<string, ApiHandler>();
  let way: NodeGateway['dial'];
  return {
    reachPods: (dial) => {
      way = dial;
    },
    add: (node, handle) => void handlers.set(node, handle),
    gateway: (reader) => ({
      sharesMachine: (node) => handlers.has(node),
      get dial() {
        return way;
      },
      request: async (node, request) => {
        const handle = handlers.get(node);
        if (handle !== undefined) return handle(request);
        throw (await reader.fresh(NODES, { name: node })) === undefined ? unknownNode(node) : elsewhere(node);
      },
    }),
  };
}

const unknownNode = (name: string): StatusError =>
  new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `nodes "${name}" not found`,
    details: { name, kind: 'nodes' },
  });

const elsewhere = (name: string): StatusError => {
  const message = `Internal error occurred: node ${name} is not reached from here: its kubelet is not part of this process`;
  return new StatusError({ code: 500, reason: 'InternalError', message });
};
