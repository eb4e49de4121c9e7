import type { Duplex } from 'node:stream';
import type { ApiRequest, ApiResponse } from '@holdfast/client';

/** The way from here to the kubelets: they know what the processes of a pod wrote. */
export interface NodeGateway {
  /**
   * Asks the kubelet of this node. Paths are those of kubelets: `/containerLogs/<namespace>/<pod>/<container>`. Rejects
   * with `StatusError` when no way leads to it; an error of the kubelet itself is an answer.
   */
  request(node: string, request: ApiRequest): Promise<ApiResponse>;
  /** True: the node runs in this process, and its pods have addresses of this machine, loopback ones among them. */
  readonly sharesMachine?: (node: string) => boolean;
  /** A connection to an address that only this way reaches; `undefined`: an ordinary one does. Absent: always. */
  readonly dial?:
    | ((place: { readonly host: string; readonly port: number }) => Promise<Duplex> | undefined)
    | undefined;
}
