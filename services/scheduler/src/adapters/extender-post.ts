import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:http';
import { parseJson } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import { nodeHttp, nodeHttps, readOkText } from '@holdfast/platform/http';
import type { WireTls } from '../configuration/wire.ts';
import { EXTENDER_ANSWER_MAX_BYTES } from '../limits.ts';
import type { Post } from './extender.ts';

/** Calls extenders over HTTP or HTTPS. Loads the libraries on first use. */
export function createExtenderPost(clock: Clock): Post {
  return async (config, verb, body) => {
    const url = new URL(`${config.urlPrefix}/${verb}`);
    const { request } = url.protocol === 'https:' ? nodeHttps() : nodeHttp();
    const aborter = new AbortController();
    const timer = clock.timer(config.timeoutMs, () =>
      aborter.abort(new Error(`extender ${config.urlPrefix} gave no answer within ${config.timeoutMs} ms`)),
    );
    const options: RequestOptions = {
      method: 'POST',
      signal: aborter.signal,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      ...tlsOptions(config.tls),
    };
    try {
      const text = await new Promise<string>((resolve, reject) => {
        const sent = request(url, options, (response) => {
          void readOkText(response, 'the extender', EXTENDER_ANSWER_MAX_BYTES).then(resolve, reject);
        });
        sent.on('error', (error) => reject(aborter.signal.aborted ? aborter.signal.reason : error));
        sent.end(JSON.stringify(body));
      });
      return parseJson(text).value;
    } finally {
      timer.cancel();
    }
  };
}

function tlsOptions(tls: WireTls | undefined): Readonly<Record<string, unknown>> {
  if (tls === undefined) return {};
  const pem = (data: string | undefined, file: string | undefined): Buffer | undefined =>
    data === undefined ? (file === undefined ? undefined : readFileSync(file)) : Buffer.from(data, 'base64');
  const [cert, key, ca] = [pem(tls.certData, tls.certFile), pem(tls.keyData, tls.keyFile), pem(tls.caData, tls.caFile)];
  return {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(ca === undefined ? {} : { ca }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    rejectUnauthorized: tls.insecure !== true,
  };
}
