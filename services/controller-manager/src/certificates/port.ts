/** What a certificate request asks for. */
export interface RequestedIdentity {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
}

/** Reads what clients send; `request` is base64 of PEM, as it stands in the object. Rejects when it cannot be read. */
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
