import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TlsPair } from '../served-pair.ts';

/** A certificate that is its own authority, valid for two days, and its key. */
export function createPair(): TlsPair {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-pair-'));
  const [keyFile, certFile] = [path.join(folder, 'tls.key'), path.join(folder, 'tls.crt')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const args = ['req', ...kind, '-subj', '/CN=test', '-keyout', keyFile, '-out', certFile];
  try {
    execFileSync('openssl', args, { stdio: 'pipe' });
    return { certificate: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
