-- Has wrk look into each answer, which it does not by itself.
function response(status, headers, body)
  if status ~= 200 or body ~= '{"message":"Hello, World!"}' then
    print("WRONG ANSWER", status, body)
    wrk.thread:stop()
  end
end
