import type { TestContext } from 'node:test';
import type { ApiHandler } from '@holdfast/client';
import { createSilentLog } from '@holdfast/platform';
import { createHttpsServer, type HttpsLimits } from '../front/index.ts';
import { createCertificate } from './certificate.ts';

export const tls = createCertificate();
export const host = '127.0.0.1';

/** The port at which `handle` answers until the test is over. */
export async function serve(t: TestContext, handle: ApiHandler, limits: Partial<HttpsLimits> = {}): Promise<number> {
  const https = createHttpsServer({ handle, log: createSilentLog(), host, port: 0, tls, limits });
  t.after(() => https.stop());
  await https.start();
  return https.address().port;
}
