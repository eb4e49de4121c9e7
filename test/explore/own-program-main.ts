import { readFileSync, writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import path from 'node:path';
import { parse } from 'yaml';

/**
 * The shipped program of the controller manager as an operator: it gets its cluster by KUBECONFIG. Arguments: the names
 * of its controllers.
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
const controllers = process.argv.splice(2).join(',');
process.argv.push('--api-servers', server, '--ca-file', keep('ca.crt', Buffer.from(authority, 'base64')));
process.argv.push('--token-file', token, '--pod-gc-token-file', token, '--controllers', controllers);
process.argv.push('--log-level', 'warn');
await import(new URL('../../services/controller-manager/src/main.ts', import.meta.url).href);
// Explore kills it: what is compiled is kept now, for the next start.
flushCompileCache();
