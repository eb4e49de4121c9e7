import { type FieldError, invalid, required } from '@holdfast/machinery';
import type { PodSpec } from '../../generated/types.ts';
import { validateDnsSubdomain, validateIp } from '../check.ts';
import { goStrings } from '../go-text.ts';
import { DNS_NAMESERVERS_MAX, DNS_SEARCH_LIST_CHARS_MAX, DNS_SEARCH_PATHS_MAX } from '../limits.ts';

export function validateDnsConfig(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  const config = spec.dnsConfig;
  const servers = config?.nameservers ?? [];
  if (spec.dnsPolicy === 'None') {
    if (config === undefined) {
      out.push(required(path, 'must provide `dnsConfig` when `dnsPolicy` is None'));
      return;
    }
    if (servers.length === 0) {
      out.push(required(`${path}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None'));
      return;
    }
  }
  if (servers.length > DNS_NAMESERVERS_MAX) {
    const detail = `must not have more than ${DNS_NAMESERVERS_MAX} nameservers`;
    out.push(invalid(`${path}.nameservers`, goStrings(servers), detail));
  }
  for (const [i, server] of servers.entries()) validateIp(out, `${path}.nameservers[${i}]`, server);
  validateSearches(out, `${path}.searches`, config?.searches ?? []);
  for (const [i, option] of (config?.options ?? []).entries()) {
    if (!option.name) out.push(required(`${path}.options[${i}]`, 'must not be empty'));
  }
}

function validateSearches(out: FieldError[], path: string, searches: readonly string[]): void {
  const refuse = (what: string): void => {
    out.push(invalid(path, goStrings(searches), `must not have more than ${what}`));
  };
  if (searches.length > DNS_SEARCH_PATHS_MAX) refuse(`${DNS_SEARCH_PATHS_MAX} search paths`);
  if (searches.join(' ').length > DNS_SEARCH_LIST_CHARS_MAX) {
    refuse(`${DNS_SEARCH_LIST_CHARS_MAX} characters (including spaces) in the search list`);
  }
  for (const [i, search] of searches.entries()) {
    validateDnsSubdomain(out, `${path}[${i}]`, search.endsWith('.') ? search.slice(0, -1) : search);
  }
}
