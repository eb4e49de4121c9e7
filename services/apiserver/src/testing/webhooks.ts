import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { type Answer, configMapBody, startTestApi, type TestApi } from './fixture.ts';
import { tls } from './https.ts';

export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
export const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
export const RULES = [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }];
const CA = Buffer.from(tls.certificate).toString('base64');

export interface Review {
  readonly request: Record<string, unknown> & {
    readonly uid: string;
    readonly object: { data?: Record<string, string> } | null;
  };
}

/** An API and one webhook server over TLS. */
export interface WebhookWorld {
  readonly api: TestApi;
  readonly url: string;
  /** The received requests. */
  readonly reviews: Review[];
  /** The response: an object, or the text of a body. `undefined`: never responds. */
  respond: (review: Review) => unknown;
  redirectTo: string | undefined;
  /** Registers a webhook at the server. */
  hook(kind: 'validating' | 'mutating', name: string, webhook?: object): Promise<void>;
  /** Creates a ConfigMap. */
  create(name: string, data?: Record<string, string>, query?: string): Promise<Answer>;
  /** The server ends a connection when a second request comes over it. */
  dropsReusedConnections: boolean;
  /** The server ends every connection when a request comes over it. */
  dropsAll: boolean;
  /** Connections that were ended so. */
  readonly drops: number;
  stop(): Promise<void>;
}

export async function startWebhookWorld(): Promise<WebhookWorld> {
  const api = await startTestApi();
  const reviews: Review[] = [];
  const used = new WeakSet<object>();
  let drops = 0;
  const server = createServer({ cert: tls.certificate, key: tls.key }, (request, response) => {
    if (world.dropsAll || (world.dropsReusedConnections && used.has(request.socket))) {
      drops++;
      return void request.socket.destroy();
    }
    used.add(request.socket);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
      reviews.push(review);
      if (world.redirectTo !== undefined) {
        response.writeHead(307, { location: world.redirectTo }).end();
        return;
      }
      const answer = world.respond(review);
      if (answer === undefined) return;
      response.setHeader('content-type', 'application/json');
      response.end(typeof answer === 'string' ? answer : reviewOf(review, answer as object));
    });
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/hook`;
  const world: WebhookWorld = {
    api,
    url,
    reviews,
    respond: () => ({ allowed: true }),
    redirectTo: undefined,
    dropsReusedConnections: false,
    dropsAll: false,
    get drops() {
      return drops;
    },
    hook: (kind, name, webhook = {}) =>
      register(api, `${ADMISSION}/${kind}webhookconfigurations`, { name, url, webhook }),
    create: (name, data = {}, query = '') =>
      api.call('POST', `${CONFIG_MAPS}${query}`, { body: configMapBody(name, data) }),
    stop: async () => {
      await api.stop();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return world;
}

const reviewOf = ({ request }: Review, answer: object): string =>
  JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid: request.uid, ...answer },
  });

interface Registration {
  readonly name: string;
  readonly url: string;
  readonly webhook: object;
}

async function register(api: TestApi, path: string, { name, url, webhook }: Registration): Promise<void> {
  const created = await api.call('POST', path, {
    body: {
      metadata: { name },
      webhooks: [
        {
          name: `${name}.example.com`,
          clientConfig: { url, caBundle: CA },
          rules: RULES,
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          ...webhook,
        },
      ],
    },
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  await api.call('GET', path);
}

/** Allows the request with this JSON patch. */
export const patchAnswer = (...operations: readonly object[]): object => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});
