import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface ReviewedObject {
  readonly apiVersion: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface ConversionReview {
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly ReviewedObject[];
  };
}

export interface WebhookServer extends AsyncDisposable {
  readonly url: string;
  /** Base64, as `caBundle` has it. */
  readonly caBundle: string;
  readonly reviews: readonly unknown[];
}

/** A webhook on a TLS server of its own, with a certificate that is its own authority. `answer` gets the body of each request. */
export async function serveWebhook(answer: (review: unknown) => unknown): Promise<WebhookServer> {
  const { certificate, key } = createCertificate();
  const reviews: unknown[] = [];
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review: unknown = JSON.parse(Buffer.concat(chunks).toString());
      reviews.push(review);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(review)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caBundle: Buffer.from(certificate).toString('base64'),
    reviews,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The answer of a conversion webhook that makes these objects. */
export const converted = (review: ConversionReview, convert: (object: ReviewedObject) => ReviewedObject): unknown => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  response: {
    uid: review.request.uid,
    result: { status: 'Success' },
    convertedObjects: review.request.objects.map((object) => ({
      ...convert(object),
      apiVersion: review.request.desiredAPIVersion,
    })),
  },
});

function createCertificate(): { readonly certificate: string; readonly key: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-webhook-'));
  const [keyPath, certPath] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=webhook', '-addext', 'subjectAltName=IP:127.0.0.1'];
  try {
    execFileSync('openssl', ['req', ...kind, ...names, '-keyout', keyPath, '-out', certPath], { stdio: 'pipe' });
    return { certificate: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
