import type { ClientRequest } from 'node:http';
import type { RequestOptions } from 'node:https';
import { failureOf } from '../proxy/proxy-exchange.ts';
import type { CallTarget } from './port.ts';

type TlsOptions = Pick<RequestOptions, 'host' | 'port' | 'servername' | 'ca' | 'rejectUnauthorized'>;

/** The connection address, and the expected certificate name: that of the URL, wherever the connection leads. */
export function tlsOptionsOf(target: CallTarget): TlsOptions {
  const url = new URL(target.url);
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  return {
    host: target.connectTo?.host ?? hostname,
    port: target.connectTo?.port ?? (url.port === '' ? 443 : Number(url.port)),
    servername: /^[\d.]+$|:/.test(hostname) ? '' : hostname,
    ...(target.ca === undefined ? {} : { ca: target.ca }),
    ...(target.insecure === true ? { rejectUnauthorized: false } : {}),
  };
}

/**
 * True when a request failed because the server had closed its idle connection. This says nothing about the server, so
 * the request is repeated once on a new connection.
 */
export const isStaleConnection = (request: ClientRequest, error: Error & { readonly code?: string }): boolean =>
  request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

const TLS_TEXTS: ReadonlyMap<string, string> = new Map([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'x509: certificate signed by unknown authority'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'x509: certificate signed by unknown authority'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'x509: certificate signed by unknown authority'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'x509: certificate signed by unknown authority'],
  ['CERT_HAS_EXPIRED', 'x509: certificate has expired or is not yet valid'],
  ['CERT_NOT_YET_VALID', 'x509: certificate has expired or is not yet valid'],
]);

/** The failure in the words of Go's TLS library or network package. */
export function tlsFailureOf(error: Error & { readonly code?: string; readonly host?: string }): string {
  const { code = '' } = error;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `tls: failed to verify certificate: x509: certificate is not valid for ${error.host ?? 'this name'}`;
  }
  const known = TLS_TEXTS.get(code);
  return known === undefined ? failureOf(error) : `tls: failed to verify certificate: ${known}`;
}
