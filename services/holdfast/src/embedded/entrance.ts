import { AnswersUnderWay, createHttpsServer, type HttpsServer } from '@holdfast/apiserver/https';
import type { ApiHandler } from '@holdfast/client';
import type { ClusterPki } from '@holdfast/pki/cluster-pki';
import { invariant } from '@holdfast/platform';
import type { StartConfig } from '../config.ts';
import type { Machine } from './machine.ts';

/** The HTTPS port. Its thread loads from now on; the request handler may be set later. */
export interface Entrance {
  readonly https: HttpsServer;
  /** The answers of `https`, for the API server. */
  readonly answers: AnswersUnderWay;
  /** Call it before `https` is started. */
  readonly leadTo: (handle: ApiHandler) => void;
}

export interface EntranceDeps {
  readonly machine: Machine;
  readonly config: StartConfig;
  readonly pki: ClusterPki;
}

export function createEntrance({ machine, config, pki }: EntranceDeps): Entrance {
  let handle: ApiHandler | undefined;
  const answers = new AnswersUnderWay();
  const https = createHttpsServer({
    handle: (request) => {
      invariant(handle !== undefined, 'no connection is accepted before a handler is set');
      return handle(request);
    },
    answers,
    log: machine.log,
    host: config.host,
    port: config.port,
    tls: { certificate: pki.serverCertificate, key: pki.serverKey, clientCa: pki.caCertificate },
  });
  return {
    https,
    answers,
    leadTo: (answering) => {
      handle = answering;
    },
  };
}
