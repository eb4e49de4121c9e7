import type { NodeGateway } from '@holdfast/apiserver';
import type { ApiHandler } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';

/** The kubelets of this process, called directly. */
export interface DirectNodes extends NodeGateway {
  add(node: string, handle: ApiHandler): void;
}

export function createDirectNodes(): DirectNodes {
  const handlers = new Map<string, ApiHandler>();
  return {
    add: (node, handle) => void handlers.set(node, handle),
    request: async (node, request) => {
      const handle = handlers.get(node);
      if (handle !== undefined) return handle(request);
      const message = `Internal error occurred: node ${node} is not reached from here: its kubelet is no part of this process`;
      throw new StatusError({ code: 500, reason: 'InternalError', message });
    },
  };
}
