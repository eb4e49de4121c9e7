import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate that is its own authority: of a server for 127.0.0.1, unless another name is wanted. */
export function createCertificate(
  commonName = 'test',
  alternativeName = 'IP:127.0.0.1',
): { readonly certificate: string; readonly key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'apiserver-tls-'));
  const [keyPath, certPath] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', `/CN=${commonName}`, '-addext', `subjectAltName=${alternativeName}`];
  try {
    execFileSync('openssl', ['req', ...kind, ...names, '-keyout', keyPath, '-out', certPath], { stdio: 'pipe' });
    return { certificate: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8') };
  } catch (error) {
    throw new Error('the openssl program is needed for this test: install the package openssl', { cause: error });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
