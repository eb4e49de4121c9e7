import { createSameThreadHttpsServer } from '@holdfast/apiserver/same-thread-https';
import type { ApiHandler } from '@holdfast/client';
import { EMBEDDED_CONTEXT, formatKubeconfig } from '@holdfast/pki/kubeconfig';
import type { Log, Service } from '@holdfast/platform';
import { type ClusterKeys, clientAuthorities } from './state.ts';

export interface ClusterPort extends Service {
  readonly url: () => string;
  readonly address: () => { readonly host: string; readonly port: number };
  /** For the user of this token. */
  readonly kubeconfig: (token: string) => string;
}

export interface ClusterPortOptions {
  readonly host: string;
  readonly port: number;
  readonly keys: ClusterKeys;
  readonly log: Log;
  readonly handle: ApiHandler;
}

/** The HTTPS port of a cluster, on loopback. It stays open when the cluster behind it is replaced. */
export function createClusterPort({ host, port, keys, log, handle }: ClusterPortOptions): ClusterPort {
  const { pki } = keys;
  const tls = { certificate: pki.serverCertificate, key: pki.serverKey, clientCa: clientAuthorities(keys) };
  const server = createSameThreadHttpsServer({ handle, log, host, port, tls });
  const url = (): string => `https://${host.includes(':') ? `[${host}]` : host}:${server.address().port}`;
  return {
    name: server.name,
    start: () => server.start(),
    stop: () => server.stop(),
    url,
    address: () => ({ host, port: server.address().port }),
    kubeconfig: (token) => {
      const contexts = [{ name: EMBEDDED_CONTEXT, server: url() }];
      return formatKubeconfig({ contexts, caCertificate: pki.caCertificate, token });
    },
  };
}
