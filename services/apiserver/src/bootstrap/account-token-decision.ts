import {
  ACCOUNT_NAME_ANNOTATION,
  ACCOUNT_TOKEN_SECRET,
  isTerminating,
  type Secret,
  type ServiceAccount,
} from '@holdfast/api';

const UID = 'kubernetes.io/service-account.uid';

export type AccountTokenAction = { readonly kind: 'fill'; readonly secret: Secret } | { readonly kind: 'remove' };

export interface AccountTokenFacts {
  readonly account: ServiceAccount | undefined;
  /** PEM; absent until it is published. */
  readonly ca: string | undefined;
  readonly issue: (account: ServiceAccount) => string;
}

export const isAccountToken = (secret: Secret, account: string): boolean =>
  secret.type === ACCOUNT_TOKEN_SECRET && secret.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] === account;

/** Returns the missing data of a token Secret; nothing when it is complete or terminating. */
export function decideOnAccountToken(
  secret: Secret,
  { account, ca, issue }: AccountTokenFacts,
): AccountTokenAction | undefined {
  const { metadata, type, data = {} } = secret;
  if (type !== ACCOUNT_TOKEN_SECRET || isTerminating({ metadata })) return undefined;
  const claimed = metadata.annotations?.[UID];
  if (account === undefined || (claimed !== undefined && claimed !== account.metadata.uid)) return { kind: 'remove' };
  const namespace = data['namespace'] || base64(metadata.namespace ?? '');
  const certificate = ca === undefined ? data['ca.crt'] : base64(ca);
  const whole = Boolean(data['token']) && namespace === data['namespace'] && certificate === data['ca.crt'];
  if (whole && claimed !== undefined) return undefined;
  return {
    kind: 'fill',
    secret: {
      ...secret,
      metadata: { ...metadata, annotations: { ...metadata.annotations, [UID]: account.metadata.uid ?? '' } },
      data: {
        ...data,
        ...(certificate === undefined ? {} : { 'ca.crt': certificate }),
        namespace,
        token: data['token'] || base64(issue(account)),
      },
    },
  };
}

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
