-- The CRM.
CREATE TYPE client_status AS ENUM ('Active', 'Prospect', 'Inactive');
CREATE TYPE opportunity_stage AS ENUM
    ('Prospecting', 'Qualification', 'Proposal', 'Negotiation', 'Closed-Won', 'Closed-Lost');
CREATE TYPE quote_status AS ENUM ('Draft', 'Sent', 'Approved', 'Rejected', 'Canceled');
CREATE TYPE contract_status AS ENUM ('Active', 'Pending', 'Expired');
CREATE TYPE document_entity_type AS ENUM ('Opportunity', 'Contract', 'Quote', 'Client');
CREATE TYPE note_entity_type AS ENUM ('Opportunity', 'Client', 'Contact', 'Quote', 'Contract');
CREATE TYPE company_type AS ENUM ('Partner', 'Vendor', 'Competitor');

CREATE TABLE clients (
    client_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL CHECK (name <> ''),
    industry text,
    email text UNIQUE,
    phone text,
    address text,
    status client_status NOT NULL,
    created_date timestamptz NOT NULL DEFAULT now(),
    owner text
);

CREATE TABLE contacts (
    contact_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    first_name text NOT NULL,
    last_name text NOT NULL,
    title text,
    email text,
    phone text,
    client_id uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
    notes text
);

CREATE TABLE opportunities (
    opportunity_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    client_id uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
    name text NOT NULL,
    stage opportunity_stage NOT NULL,
    amount numeric(14, 2) NOT NULL CHECK (amount > 0),
    close_date date,
    owner text,
    probability integer CHECK (probability BETWEEN 1 AND 99),
    notes text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON opportunities (client_id);

CREATE TABLE quotes (
    quote_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    opportunity_id uuid NOT NULL REFERENCES opportunities ON DELETE CASCADE,
    version text,
    amount numeric(14, 2) NOT NULL CHECK (amount > 0),
    status quote_status NOT NULL,
    valid_until date,
    created_date timestamptz NOT NULL DEFAULT now(),
    quote_prefix text
);
CREATE INDEX ON quotes (opportunity_id);

CREATE TABLE contracts (
    contract_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    client_id uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
    opportunity_id uuid REFERENCES opportunities ON DELETE SET NULL,
    start_date date,
    end_date date,
    value numeric(14, 2),
    status contract_status NOT NULL,
    document_url text
);

CREATE TABLE companies (
    company_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL,
    type company_type NOT NULL,
    industry text,
    address text,
    contacts text[]
);

CREATE TABLE documents (
    document_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    entity_type document_entity_type NOT NULL,
    entity_id uuid NOT NULL,
    file_name text NOT NULL,
    uploaded_by text,
    uploaded_at timestamptz NOT NULL DEFAULT now(),
    file_url text
);
CREATE INDEX ON documents (entity_type, entity_id);

CREATE TABLE notes (
    note_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    entity_type note_entity_type NOT NULL,
    entity_id uuid NOT NULL,
    content text NOT NULL,
    created_by text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON notes (entity_type, entity_id);
