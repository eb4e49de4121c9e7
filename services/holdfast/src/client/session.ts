import {
  type ApiClient,
  type ApiRequest,
  type ApiResponse,
  type ApiTransport,
  createApiClient,
  jsonOf,
  statusErrorOf,
  TransportError,
} from '@holdfast/client';
import { createHttpsTransport } from '@holdfast/client/https';
import { describeError, OperatorError } from '@holdfast/platform';
import type { SettingSpecs, Settings } from '@holdfast/platform/config';
import type { Terminal } from './command.ts';
import { type Access, readAccess } from './kubeconfig.ts';
import { kubeconfigFile } from './kubeconfig-choice.ts';
import { plainName } from './misuse.ts';
import { PLAIN } from './terminal/paint.ts';
import { warningsOf } from './warnings.ts';

export const CONNECTION_SETTINGS = {
  namespace: { kind: 'string', short: 'n', help: 'Namespace; default: that of the kubeconfig' },
  name: { kind: 'string', help: 'A cluster of `up`' },
  kubeconfig: {
    kind: 'string',
    help: 'Kubeconfig file; default: KUBECONFIG, then .holdfast/kubeconfig, then that of the only cluster of `up`',
  },
} as const satisfies SettingSpecs;
export type ConnectionSettings = typeof CONNECTION_SETTINGS;

/** A connection of one person to an API server. It prints the server's warnings immediately. */
export interface Session extends AsyncDisposable {
  readonly client: ApiClient;
  readonly namespace: string;
  /** Reads a document in another representation, such as a table. */
  read(path: string, accept: string, query?: URLSearchParams): Promise<unknown>;
  /** Posts nothing to a path of the console, which may be at another address than the API. */
  postToConsole(path: string): Promise<unknown>;
  readonly console: string;
  readonly server: string;
  /** Gets an answer whatever its status is. */
  ask(path: string, query?: URLSearchParams): Promise<ApiResponse>;
}

const USER_AGENT = 'holdfast';

export async function openSession(settings: Settings<ConnectionSettings>, terminal: Terminal): Promise<Session> {
  const access = readAccess(kubeconfigFile(settings, terminal.env));
  const { server, caPem, clientCertificate } = access;
  const connect = (address: string): ApiTransport => {
    const https = createHttpsTransport({
      servers: [address],
      caPem,
      clock: terminal.clock,
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
    });
    return personal(https, { ...access, server: address }, terminal);
  };
  const transport = connect(server);
  const ask = (path: string, query = new URLSearchParams(), accept = '*/*'): Promise<ApiResponse> =>
    transport.request({ method: 'GET', path, query, headers: { accept, 'user-agent': USER_AGENT } });
  return {
    ask,
    client: createApiClient({ transport, userAgent: USER_AGENT, clock: terminal.clock }),
    namespace: plainName(settings.namespace ?? access.namespace),
    read: async (path, accept, query) => {
      const response = await ask(path, query, accept);
      if (response.status >= 400) throw statusErrorOf(response);
      return jsonOf(response);
    },
    server,
    console: access.console,
    postToConsole: async (path) => {
      const headers = { accept: 'application/json', 'user-agent': USER_AGENT };
      const console = connect(access.console);
      try {
        const response = await console.request({ method: 'POST', path, query: new URLSearchParams(), headers });
        if (response.status >= 400) throw statusErrorOf(response);
        return jsonOf(response);
      } finally {
        await console.close();
      }
    },
    [Symbol.asyncDispose]: () => transport.close(),
  };
}

/** Adds the credentials, prints the warnings of every response, and explains what to do when there is none. */
function personal(https: ApiTransport, { server, token }: Access, { tell, paintTold = PLAIN }: Terminal): ApiTransport {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = async (asked: ApiRequest): Promise<ApiResponse> => {
    try {
      const response = await https.request({ ...asked, headers: { ...asked.headers, ...authorization } });
      for (const warning of warningsOf(response.headers['warning'] ?? ''))
        tell(`${paintTold.caution('Warning:')} ${warning}`);
      return response;
    } catch (error) {
      throw error instanceof TransportError ? noAnswer(server, asked, error) : error;
    }
  };
  return { request, close: () => https.close() };
}

function noAnswer(server: string, { method }: ApiRequest, error: TransportError): OperatorError {
  const unknown = method !== 'GET' && error.possiblySent;
  return new OperatorError({
    code: 'NoAnswer',
    message: `${server} gave no answer: ${describeError(error.cause ?? error)}`,
    nextStep: unknown
      ? 'The server may have applied it: check before you repeat it.'
      : 'Check that it runs and that this is the right kubeconfig (--kubeconfig). `npm start` or `holdfast up -d` starts a cluster.',
    cause: error,
  });
}
