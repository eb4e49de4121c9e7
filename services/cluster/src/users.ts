import type { StaticTokens } from '@holdfast/apiserver';
import { ADMIN_USER, createCredentials, newToken } from '@holdfast/pki/credentials';
import { invariant } from '@holdfast/platform';

type User = StaticTokens extends ReadonlyMap<string, infer U> ? U : never;

/** The users of a cluster with their bearer tokens. They stay the same when a cluster is reset. */
export class ClusterUsers {
  readonly tokens = new Map<string, User>();
  readonly #tokenOf = new Map<string, string>();

  constructor(nodeNames: readonly string[]) {
    for (const { token, user, groups } of createCredentials(nodeNames).values()) this.#add(token, user, groups);
  }

  get admin(): string {
    return this.tokenOf(ADMIN_USER);
  }

  tokenOf(user: string): string {
    const token = this.#tokenOf.get(user);
    invariant(token !== undefined, 'every component has a credential', { user });
    return token;
  }

  /** `undefined` for a token of somebody else. */
  userOf(token: string): string | undefined {
    return this.tokens.get(token)?.name;
  }

  /** Returns the token of a new user. A name that is known keeps its token. */
  add(user: string, groups: readonly string[]): string {
    return this.#tokenOf.get(user) ?? this.#add(newToken(), user, groups);
  }

  #add(token: string, name: string, groups: readonly string[]): string {
    this.tokens.set(token, { name, uid: name, groups });
    this.#tokenOf.set(name, token);
    return token;
  }
}
