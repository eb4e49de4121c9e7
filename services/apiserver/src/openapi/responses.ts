/** What both versions of OpenAPI say of answers, and of who may ask. */
export const REASONS: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' };

export const UNAUTHORIZED = { 401: { description: 'Unauthorized' } };

export const BEARER_TOKEN = {
  type: 'apiKey',
  description: 'Bearer Token authentication',
  name: 'authorization',
  in: 'header',
};
