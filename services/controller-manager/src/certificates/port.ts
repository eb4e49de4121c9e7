/** The identity in a certificate request. */
export interface RequestedIdentity {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
}

/** Parses requests of clients; `request` is base64 of PEM, as in the object. Rejects when it is unreadable, or has several common names. */
export type ReadRequest = (request: string) => Promise<RequestedIdentity>;

export interface IssueOptions {
  readonly usages: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Makes certificates of one authority. */
export interface CertificateAuthority {
  /** PEM. Rejects when the request is not signed with its own key. */
  issue(request: string, options: IssueOptions): Promise<string>;
}
