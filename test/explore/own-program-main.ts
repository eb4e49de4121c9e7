import { readFileSync, writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import path from 'node:path';
import { createAuthority } from '@holdfast/pki/cluster-pki';
import { parse } from 'yaml';
import { SERVED_DRIVER } from './own-driver.ts';

/**
 * The shipped program of the controller manager as an operator: it gets its cluster by KUBECONFIG. Arguments: the names
 * of its controllers with commas, and further flags.
 */
interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: { server: string; 'certificate-authority-data': string } }];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
}

const file = process.env['KUBECONFIG'] ?? '';
const { clusters, users } = parse(readFileSync(file, 'utf8')) as Kubeconfig;
const { server, 'certificate-authority-data': authority } = clusters[0].cluster;

/** Beside the kubeconfig, so that explore removes it. */
function keep(name: string, content: string | Buffer): string {
  const place = path.join(path.dirname(file), name);
  writeFileSync(place, content, { mode: 0o600 });
  return place;
}

const token = keep('token', users[0].user.token);
const [controllers = '', ...flags] = process.argv.splice(2);
process.argv.push('--api-servers', server, '--ca-file', keep('ca.crt', Buffer.from(authority, 'base64')));
process.argv.push('--token-file', token, '--pod-gc-token-file', token, '--controllers', controllers);
process.argv.push('--log-level', 'warn', ...flags);
if (controllers.includes('csrsigning')) {
  const { caCertificate, caKey } = await createAuthority(Date.now());
  process.argv.push('--certificates-token-file', token);
  process.argv.push('--cluster-signing-cert-file', keep('signer.crt', caCertificate));
  process.argv.push('--cluster-signing-key-file', keep('signer.key', caKey));
}
if (controllers.includes('csi-provisioner')) {
  const { serveCsiDriver } = await import('../support/csi-driver/serve.ts');
  const [root, endpoint] = ['disks', 'csi.sock'].map((name) => path.join(path.dirname(file), name)) as [string, string];
  await serveCsiDriver({ name: SERVED_DRIVER, root, endpoint });
  process.argv.push('--csi-drivers', `${SERVED_DRIVER}=${endpoint}`);
}
await import(new URL('../../services/controller-manager/src/main.ts', import.meta.url).href);
// Explore kills it: what is compiled is kept now, for the next start.
flushCompileCache();
