import { createSameThreadHttpsServer } from '@holdfast/apiserver/same-thread-https';
import type { ApiHandler } from '@holdfast/client';
import type { ClusterPki } from '@holdfast/pki/cluster-pki';
import { EMBEDDED_CONTEXT, formatKubeconfig } from '@holdfast/pki/kubeconfig';
import type { Log, Service } from '@holdfast/platform';

export interface ClusterPort extends Service {
  readonly url: () => string;
  /** For the user of this token. */
  readonly kubeconfig: (token: string) => string;
}

export interface ClusterPortOptions {
  readonly port: number;
  readonly pki: ClusterPki;
  readonly log: Log;
  readonly handle: ApiHandler;
}

const HOST = '127.0.0.1';

/** The HTTPS port of a cluster, on loopback. It stays open when the cluster behind it is replaced. */
export function createClusterPort({ port, pki, log, handle }: ClusterPortOptions): ClusterPort {
  const tls = { certificate: pki.serverCertificate, key: pki.serverKey, clientCa: pki.caCertificate };
  const server = createSameThreadHttpsServer({ handle, log, host: HOST, port, tls });
  const url = (): string => `https://${HOST}:${server.address().port}`;
  return {
    name: server.name,
    start: () => server.start(),
    stop: () => server.stop(),
    url,
    kubeconfig: (token) => {
      const contexts = [{ name: EMBEDDED_CONTEXT, server: url() }];
      return formatKubeconfig({ contexts, caCertificate: pki.caCertificate, token });
    },
  };
}
