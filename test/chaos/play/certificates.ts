import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { withNewServer } from '@holdfast/pki/cluster-pki';
import { STANDARD_SERVER_NAMES } from '@holdfast/pki/names';
import { createSystemClock } from '@holdfast/platform';

/** Longer than a certificate of a server is valid. */
const LONG_AGO_MS = 900 * 86_400_000;

export interface ServerIdentity {
  readonly certificate: string;
  readonly key: string;
}

const filesIn = (folder: string): readonly [certificate: string, key: string] => [
  path.join(folder, 'server.crt'),
  path.join(folder, 'server.key'),
];

/** The one that all API servers started with. */
export function goodIdentity(stateFolder: string): ServerIdentity {
  const [certificate, key] = filesIn(path.join(stateFolder, 'apiserver'));
  return { certificate: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') };
}

/** Into the folder of one API server, in place: owner and mode stay. */
export function putIdentity(folder: string, { certificate, key }: ServerIdentity): void {
  const [certificateFile, keyFile] = filesIn(folder);
  writeFileSync(certificateFile, certificate);
  writeFileSync(keyFile, key);
}

/** One that the cluster's authority issued for these API servers, and that has expired. */
export async function expiredIdentity(stateFolder: string, apiServers: readonly string[]): Promise<ServerIdentity> {
  const read = (file: string): string => readFileSync(path.join(stateFolder, 'pki', file), 'utf8');
  const authority = { caCertificate: read('ca.crt'), caKey: read('ca.key') };
  const names = { ...STANDARD_SERVER_NAMES, dnsNames: [...STANDARD_SERVER_NAMES.dnsNames, ...apiServers] };
  const issued = await withNewServer(authority, names, createSystemClock().now() - LONG_AGO_MS);
  return { certificate: issued.serverCertificate, key: issued.serverKey };
}
