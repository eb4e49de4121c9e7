/** Response and security definitions of both OpenAPI versions. */
export const REASONS: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' };

export const UNAUTHORIZED = { 401: { description: 'Unauthorized' } };

export const BEARER_TOKEN = {
  type: 'apiKey',
  description: 'Bearer Token authentication',
  name: 'authorization',
  in: 'header',
};
