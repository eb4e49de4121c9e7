import { OperatorError } from './errors.ts';
import { withoutCredentials } from './store-address.ts';

export interface BusAddress {
  /** The address without credentials, for logs and errors. */
  readonly server: string;
  readonly user?: string;
  readonly password?: string;
}

/** Parses the `--bus` address of a NATS server. Throws an OperatorError that names the accepted forms. */
export function readBusAddress(text: string): BusAddress {
  const address = parse(text);
  if (address !== undefined) return address;
  throw new OperatorError({
    code: 'BadSetting',
    message: `--bus takes nats://host:port or tls://host:port, not "${withoutCredentials(text)}"`,
    nextStep: 'Give the address of a NATS server; percent-encode special characters (such as / ? # %) in its password.',
    exitCode: 2,
  });
}

/** The scheme is optional, as in NATS's own clients. */
function parse(text: string): BusAddress | undefined {
  const [, scheme = 'nats', rest = ''] = /^(?:(nats|tls):\/\/)?([^/].*)$/s.exec(text) ?? [];
  try {
    const { host, pathname, username, password } = new URL(`${scheme}://${rest}`);
    if (host === '' || !['', '/'].includes(pathname)) return undefined;
    return {
      server: `${scheme}://${host}`,
      ...(username === '' ? {} : { user: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    };
  } catch {
    return undefined;
  }
}
